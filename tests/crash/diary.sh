# A workspace's program that keeps a diary in its home, and tells a ledger outside what it has kept.
# Arguments: the ledger's folder, the workspace. The home is the working directory.
kept=$(cat "$1/$2" 2>/dev/null || echo 0)
page=$(cat diary 2>/dev/null || echo 0)
if [ "$page" -lt "$kept" ]; then
    echo "$2 had kept page $kept, and came back with page $page" >>"$1/lost"
fi
while :; do
    page=$((page + 1))
    echo "$page" >diary.new && mv diary.new diary
    echo "$page" >"$1/$2.new" && mv "$1/$2.new" "$1/$2"
    sleep 0.5
done
