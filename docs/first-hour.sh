#!/usr/bin/env bash
# The first hour with Envoi, recorded: docs/first-hour.sh WHEEL > docs/first-hour.md
#
# Installs the package WHEEL (`packaging/build.sh` makes it) and uses it as a new user does: in an empty folder, with an empty home and an
# environment of its own, without a checkout. What it prints is the page. Each command is shown with what it printed and with the clock.
# Exits with 1 where something does not go as the page says. docs/first_hour.py says whether the page is still true.
set -euo pipefail
wheel=$(realpath -- "${1:?usage: docs/first-hour.sh WHEEL}")
place=$(mktemp -d)
trap 'rm -rf -- "$place" || true' EXIT
mkdir "$place/home" "$place/project"
cp "$wheel" "$place/"
wheel=$(basename -- "$wheel")
began=$(date +%s%3N)

# Text of the page.
say() { printf '\n%s\n' "$*"; }

# The clock, since the beginning.
clock() {
    local ms=$(($(date +%s%3N) - began))
    printf '%02d:%02d.%01d' $((ms / 60000)) $((ms / 1000 % 60)) $((ms / 100 % 10))
}

# A block with these commands, what they print, and the clock after them. The first argument is the exit code that is expected.
block() {
    local expected=$1 code=0 text=$2
    printf '\n```console\n'
    printf '%s\n' "$text" | sed '1s/^/$ /; 2,$s/^/> /'
    (cd "$place/project" && env -i HOME="$place/home" USER=ada PATH="$place/venv/bin:/usr/bin:/bin" LANG=C.UTF-8 TZ=UTC0 bash -c "$text" < /dev/null) \
        > "$place/out" 2>&1 || code=$?
    sed "s|$place|/tmp/new|g" "$place/out"
    printf '```\n\n'
    printf 'Exit code %s. Clock: %s.\n' "$code" "$(clock)"
    if [ "$code" != "$expected" ]; then
        printf 'first-hour.sh: exit code %s, not %s: %s\n' "$code" "$expected" "$text" >&2
        exit 1
    fi
}

# A file of the project, shown and written.
file() {
    printf '\n`%s`:\n\n```\n%s\n```\n' "$1" "$2"
    printf '%s\n' "$2" > "$place/project/$1"
}

# What the clock says at the end of a chapter, beside what it may say.
within() { say "This chapter may end at $1:00. The clock says $(clock)."; }

cat <<'END'
# The first hour, recorded

`docs/first-hour.sh` made this page: it installs a package and uses it as a new user does, in an empty folder, with an empty home and nothing
of a checkout. It was recorded with the package of a release build, on a bare Debian 12 on which only `python3` and `python3-venv` had been installed. Everything
below is what the commands printed. The clock counts from the first command. It counts the machine, not the reading and the typing: a person
takes longer, and has two minutes for the first chapter and ten for the second.

END

printf '## Install, and a first run\n'
say 'The package is a Python wheel with the binary in it. An npm package and a `.deb` do the same.'
block 0 "python3 -m venv ../venv
../venv/bin/pip install --quiet --disable-pip-version-check --no-index ../$wheel"
block 0 'envoi --version'
say 'Which steps there are in an empty folder:'
block 0 'envoi'
block 0 'envoi init'
block 0 'envoi run flow.yaml'
within 02

printf '\n## A flow of your own\n'
say 'Three parts of a shop are tested, at the same time. A report gathers what they say, and a person approves it. The first draft has two mistakes.'
file shop.yaml 'flow: shop
title: Test the parts, write a report, publish it
steps:
  - id: test
    for_each: [cart, prices, search]
    run: |
      echo "testing $ENVOI_ITEM"
      echo "7 passed in 0.02s"
  - id: report
    run: |
      echo "# All parts of the shop are tested" > report.md
      cat report.md
    artefacts: [report.md]
  - id: approve
    ask: { message: "Publish the report?" }
  - id: publish
    needs: [aprove]
    run: cp report.md published.md'
block 2 'envoi check shop.yaml'
say 'Both mistakes are shown at once, each at its place. Corrected:'
block 0 "sed -i 's/artefacts/artifacts/; /needs: .aprove./d' shop.yaml
envoi check shop.yaml"
block 3 'envoi run shop.yaml'
say 'The run waits for a person. No process has to run meanwhile.'
block 0 'envoi inbox'
block 0 'envoi approve --note "well done"'
block 0 'envoi show'
within 10

printf '\n## A pulled plug\n'
say 'The engine is killed in the middle of the second step. `resume` finds the step alive, waits for it, and goes on.'
file plug.yaml 'flow: plug
steps:
  - id: one
    run: echo one >> done.txt
  - id: two
    run: |
      echo begun > two.begun
      while [ ! -e go ]; do sleep 0.1; done
      echo two >> done.txt
  - id: three
    run: echo three >> done.txt'
block 0 'envoi run plug.yaml & while [ ! -s two.begun ]; do sleep 1; done
kill -9 $!; wait $! || true
envoi runs --limit 1
touch go; envoi resume
cat done.txt'
printf '\n## A broken step, corrected\n'
say 'The second step has a typo. The first one took hours; it is not done again.'
file late.yaml 'flow: late
steps:
  - id: hours
    run: echo "worked for hours" >> hours.txt
  - id: publish
    run: ehco published'
block 1 'envoi run late.yaml'
say 'The file is corrected. Without a terminal, `resume --flow` only shows what it means:'
# shellcheck disable=SC2016
block 2 'sed -i s/ehco/echo/ late.yaml
run=$(envoi runs --limit 1 2>/dev/null | sed -n "2s/ .*//p")
envoi resume "$run" --flow late.yaml'
# shellcheck disable=SC2016
block 0 'run=$(envoi runs --limit 1 2>/dev/null | sed -n "2s/ .*//p")
envoi resume "$run" --flow late.yaml --yes
cat hours.txt'
printf '\nAll chapters: %s on the clock.\n' "$(clock)"
