#!/bin/sh
# Makes three small repositories in packages/, each with a remote in remotes/.
set -eu
for name in alpha beta gamma; do
    git init --quiet --bare --initial-branch=main "remotes/$name.git"
    git clone --quiet "remotes/$name.git" "packages/$name" 2>/dev/null
    echo 1 > "packages/$name/api"
    git -C "packages/$name" add api
    git -C "packages/$name" -c user.name=Ada -c user.email=ada@lab.example commit --quiet --message "begin with api 1"
    git -C "packages/$name" push --quiet origin HEAD:main
done
