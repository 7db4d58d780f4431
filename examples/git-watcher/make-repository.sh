#!/bin/sh
# Makes a small repository with two commits in the folder $1, the same every time.
set -eu
GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_AUTHOR_DATE='2026-10-05T08:00:00Z'
GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org GIT_COMMITTER_DATE='2026-10-05T08:00:00Z'
export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
git init --quiet --initial-branch=main "$1"
cd "$1"
echo "# Garden" >README.md
git add README.md
git commit --quiet --message "Begin the garden"
echo "- tulips" >>README.md
git commit --quiet --all --message "Plant tulips"
