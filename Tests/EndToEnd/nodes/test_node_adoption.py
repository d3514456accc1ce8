"""What a connection keeps when another node takes the calls over."""

from waiting import eventually


def test_a_client_that_names_no_device_keeps_the_id_that_it_was_given(make_cluster, make_world):
    cluster = make_cluster()
    for _ in range(2):
        owner, edges = cluster.owner(), cluster.edges()
        taro, hanako = make_world(edges[0]).connect("11"), make_world(edges[1]).connect("10", "phone-10")
        other = make_world(edges[0]).connect("11")
        given = {taro.welcome["device"], other.welcome["device"]}
        assert len(given) == 2
        cluster.settled()
        owner.kill()
        cluster.new_owner(owner)
        for number, connection in enumerate((taro, other)):
            connection.ring(hanako, f"{owner.node_port}-{number}")
            offer = hanako.expect(type="offer", callId=f"{owner.node_port}-{number}")
            assert offer["fromDevice"] == connection.welcome["device"]
            connection.ask(type="end", callId=f"{owner.node_port}-{number}")
        owner.start()
        cluster.ready()
        for connection in (taro, other, hanako):
            connection.close()
        eventually(lambda: all(node.figure("links") > 0 for node in cluster.nodes))
