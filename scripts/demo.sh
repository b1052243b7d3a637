#!/bin/sh
# Evaluates `vision` and two policies with planted faults on easy tasks and under one stressor, and writes the page.
# Then it puts `act`, a learned policy, through the whole diagnosis, with a page of its own.
# `make demo` calls it. Finished runs are kept: the second time only the page is written.
set -eu

robodx=.venv/bin/robodx
out=runs/demo
easy="control/easy perception/easy language/easy spatial/easy dynamic/easy robustness/easy"
films=1
policies="vision fault:colour_blind fault:releases_early"
if ! $robodx doctor --require gl; then
    echo "demo: without OpenGL there are no pictures, so that vision and the films are left out"
    policies="fault:colour_blind fault:releases_early"
    films=0
fi

runs=""
for policy in $policies; do
    run=$out/${policy#fault:}
    runs="$runs $run"
    echo "demo: $policy"
    # shellcheck disable=SC2086 # a list of selectors
    once() { $robodx run $easy stress/resolution --policy "$policy" --seeds 4 --workers 2 --out "$run" >/dev/null; }
    # A run of an older RoboDx is refused with status 2: it is kept, under another name, and made anew.
    once || { [ $? -eq 2 ] && mv "$run" "$run.old-$$" && echo "demo: the old run is now $run.old-$$" && once; }
done

echo "demo: the page"
# shellcheck disable=SC2086
$robodx report $runs -o $out/report.html --films $films
# shellcheck disable=SC2086
$robodx findings $runs
echo
echo "Open $out/report.html in a browser: it compares them. Next: $robodx view $out, $robodx diagnose vision --workers 2"

if [ $films -eq 0 ] || ! .venv/bin/python -c 'import onnxruntime' 2>/dev/null; then
    echo "demo: act, a learned policy, is left out: it needs OpenGL and onnxruntime (pip install 'robodx[learned]')"
    exit 0
fi
echo
echo "demo: the diagnosis of act, a learned policy, into $out/act (some minutes; Ctrl-C keeps what is done)"
act() { $robodx diagnose act --workers 2 --out $out/act; }
act || { [ $? -eq 2 ] && mv $out/act "$out/act.old-$$" && echo "demo: the old run is now $out/act.old-$$" && act; }
echo
echo "Two pages to open in a browser: $out/report.html compares the three policies, $out/act/report.html says why act fails."
echo "Next: $robodx view $out. To type robodx instead of $robodx: . .venv/bin/activate"
