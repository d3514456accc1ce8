"""A database that has lost claims, because a backup was restored or a standby without them has taken over."""

from test_take_over import Scene


def test_after_the_database_has_lost_claims_a_node_claims_above_them(make_cluster, make_world):
    """As if the owner were killed, and a backup from before its claim were restored."""
    scene = Scene(make_cluster(), make_world)
    scene.ring()
    epoch = scene.owner.figure("epoch")
    scene.owner.suspend()
    older = f"epoch = {epoch:.0f} - 1, claim = 0, released = true, until = now()"
    scene.cluster.postgres.sql(f"UPDATE ringline.owner SET {older}", database=scene.cluster.database)
    scene.owner.kill()
    new = scene.cluster.new_owner(scene.owner)
    assert new.figure("epoch") > epoch
    assert "the database has lost claims" in new.errors()
    scene.answer()
    scene.talk(0)
    scene.stayed_open()
    scene.end()
    scene.explained("the database had lost claims: a backup was restored")


def test_an_owner_whose_claim_was_lost_claims_again(make_cluster, make_world):
    """As if a standby without the claim had taken over; the row is the one that the claim had found."""
    scene = Scene(make_cluster(), make_world)
    scene.ring()
    epoch = scene.owner.figure("epoch")
    older = f"epoch = {epoch:.0f} - 1, claim = 0, released = true, until = now()"
    connection = "SELECT pg_terminate_backend(backend::integer) FROM ringline.owner"
    scene.cluster.postgres.sql(
        f"BEGIN; UPDATE ringline.owner SET {older}; {connection}; COMMIT", database=scene.cluster.database
    )
    scene.answer()
    scene.talk(0)
    assert scene.cluster.owner() is scene.owner and scene.owner.figure("epoch") == epoch
    scene.stayed_open()
    scene.end()
    scene.explained("the database had lost claims: a backup was restored")
