# shellcheck shell=bash
# What Tests/run and Tests/quick share: steps that are counted, and the checks that both make. Sourced in the top folder,
# after Deploy/packages.bash.

results=.build/test-results
log=$results/log
passed=0 failed=0 failures=()
python=$PWD/.build/venv/bin/python
export RINGLINE_PYTHON=$python RINGLINE_PYTHON_EIO3=$PWD/.build/venv-eio3/bin/python
export PYTHONPYCACHEPREFIX=$PWD/.build/pycache
unset PYTHONDONTWRITEBYTECODE
declare -A lanes
# A shell's background jobs take no notice of the Interrupt key.
trap 'trap "" TERM; kill -TERM 0; exit 130' INT

# read_cpu -- sets `cpu` to the seconds of CPU that commands of this shell have taken.
read_cpu() {
    local user system
    # In a shell of its own, `times` would report that one's commands.
    times >"$results/times.$BASHPID"
    { read -r _ && read -r user system; } <"$results/times.$BASHPID"
    user=${user%.*} system=${system%.*}
    cpu=$((${user%m*} * 60 + ${user#*m} + ${system%m*} * 60 + ${system#*m}))
}

# timed NAME COMMAND… -- runs a command, and says how long it took.
timed() {
    local name=$1 began=$SECONDS cpu_began code=0 how="done"
    shift
    say "$name"
    read_cpu
    cpu_began=$cpu
    "$@" || { code=$? && how=FAILED; }
    read_cpu
    say "$name: $how in $((SECONDS - began)) s, $((cpu - cpu_began)) s of CPU"
    return "$code"
}

# step NAME COMMAND… -- runs a command and counts it as one test.
step() {
    if timed "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures+=("$1")
        return 1
    fi
}

# beside LANE -- runs the steps of this function beside the steps that follow, until `join LANE`. It yields to them, so
# that tests with real servers do not wait for it.
beside() {
    local lane=$1
    # shellcheck disable=SC2030 # the lane's counts go into a file
    (
        passed=0 failed=0 failures=()
        renice -n 10 -p "$BASHPID" >/dev/null
        "$lane"
        printf '%s\n' "$passed" "$failed" "${failures[@]}" >"$results/$lane.counts"
    ) </dev/null >"$results/$lane.log" 2>&1 &
    lanes[$lane]=$!
}

# join LANE -- waits for the steps that run beside, prints what they printed, and counts them.
# shellcheck disable=SC2031 # the counts of the lane come out of a file
join() {
    local lane=$1 counts
    wait "${lanes[$lane]}"
    cat "$results/$lane.log"
    mapfile -t counts < <(cat "$results/$lane.counts")
    passed=$((passed + ${counts[0]:-0})) failed=$((failed + ${counts[1]:-1})) failures+=("${counts[@]:2}")
    [ -n "${counts[1]:-}" ] || failures+=("$lane: did not end")
}

# Prints the failures again, for readers who see only the end of the output.
finish() {
    [ "$failed" = 0 ] || printf 'failed: %s\n' "${failures[@]}"
    printf '%s passed, %s failed\n' "$passed" "$failed"
    [ "$failed" = 0 ]
    exit
}

# count FILE EXIT-CODE -- adds the figures of a JUnit file. A run that failed although the file reports no failure (a
# crash) counts as one more failure; so does a missing file.
count() {
    local good bad names
    { read -r good bad && mapfile -t names; } < <("$python" Tests/count_results.py "$1")
    [ "$2" = 0 ] || [ "$bad" != 0 ] || { bad=1 && names=("$1 holds no failure, and the run exited with $2"); }
    passed=$((passed + good)) failed=$((failed + bad)) failures+=("${names[@]}")
}

# Prints a seed made from the commit's id, so that the code cannot be tuned to it.
commit_seed() {
    local commit
    commit=$(git rev-parse HEAD 2>/dev/null || sha1sum Package.swift)
    echo $((16#${commit:0:12}))
}

# simulate FILE OPTION… -- simulates calls, and checks every invariant after every step; prints what broke. The report
# goes into the file.
simulate() {
    local report=$results/$1
    shift
    "$RINGLINE_SIMULATE" "$@" >"$report" || {
        grep -m 3 . "$report"
        return 1
    }
}

# swift_tests OPTION… -- runs the unit tests that are built, and counts them.
swift_tests() { timed "unit tests" run_swift_tests "$@"; }

# shellcheck disable=SC2317 # called through `timed`
run_swift_tests() {
    local code
    swift test --skip-build --xunit-output "$results/unit.xml" "$@" 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
    # A filter that matches no unit test is not a failure, because it may be meant for the end-to-end tests.
    if [[ " $* " = *' --filter '* ]] && grep -q 'No matching test cases' "$log"; then return; fi
    # Swift Testing writes its results to a second file. XCTest's file is empty, because there are no such tests.
    count "$results/unit-swift-testing.xml" "$code"
}

# end_to_end_tests STORE OPTION… -- runs end-to-end tests with servers on this store; the options are those of pytest.
end_to_end_tests() { timed "end-to-end tests over $1" run_end_to_end_tests "$@"; }

# shellcheck disable=SC2317 # called through `timed`
run_end_to_end_tests() {
    local store=$1 code=0
    shift
    # The servers log at `trace`, and the check after the tests looks for secrets in what they have logged.
    RINGLINE_TEST_STORE=$store RINGLINE_TRACE_LOGS=$PWD/$results/logs/$store \
        "$python" -m pytest -c Tests/EndToEnd/pytest.ini --dist loadfile --no-loadscope-reorder \
        --junitxml "$results/end-to-end-$store.xml" "$@" || code=$?
    # pytest's exit code 5 means that the filter matched no test.
    if [[ " $* " = *' -k '* ]] && [ "$code" = 5 ]; then return; fi
    count "$results/end-to-end-$store.xml" "$code"
}

# The clients of the end-to-end tests; pip waits for the network for much of its time.
# shellcheck disable=SC2317 # called through `beside` and `step`
python_clients() {
    step "test clients from PyPI" prepare_python .build/venv Tests/requirements.txt
    # Socket.IO clients for Engine.IO 3 and 4 cannot be installed in the same environment.
    step "old test clients from PyPI" prepare_python .build/venv-eio3 Tests/requirements-eio3.txt
}
