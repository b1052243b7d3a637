# The two commands to know: make demo, make test. `make` lists the rest.
BIN := .venv/bin
STAMP := .venv/.stamp
SOURCES := src tests benchmarks examples scripts

export PYTHON
# Else every process of the tests and the demo would compile all of src anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-thorough test-peers same-bits check format hostile bench validate-capability validate-interventions reference-panel confounding aliasing vision-table learned-tables bias-tables metamorphic-tables study stress-table validation-table null-table why-table probe-table sequential-tests coverage vocabulary pictures lock clean

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile

setup: $(STAMP)  ## make .venv, and install the GL libraries and Chromium where allowed

$(STAMP): pyproject.toml requirements.lock scripts/setup.sh
	@sh scripts/setup.sh

# The stamp says where it was made: a moved or copied tree is set up anew.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

demo: setup  ## evaluate `vision` and two faulty policies on easy tasks, write a report that compares them, then diagnose `act`; all in runs/demo
	@sh scripts/demo.sh

test: setup  ## run the tests
	@$(BIN)/robodx doctor --require gl
	@$(BIN)/python -m pytest

test-thorough: setup  ## run the tests with more seeds and five times as many fuzzed replies
	@$(BIN)/robodx doctor --require gl
	@$(BIN)/python -m pytest --thorough

test-peers: setup  ## test against LeRobot, openpi's client, PyTorch, TensorFlow, TensorFlow Datasets, Gymnasium-Robotics, W&B, rerun and pandas, in environments of their own (15 GB)
	@sh scripts/test-peers.sh

same-bits: setup  ## check that no episode moves by a bit, on trials of every kind (ten minutes on two cores; it resumes; ARGS="--seeds 1 --only expert faults")
	@$(BIN)/python scripts/same_bits.py $(ARGS)

check: setup  ## lint, formatting, types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy $(SOURCES)

format: setup  ## sort imports, format
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

hostile: setup  ## attack the command line, policies, run folders, data sets, clients and served wires (22 minutes; ARGS="--quick" a tenth)
	@PYTHONPATH=scripts $(BIN)/python -m hostile $(ARGS)

bench: setup  ## measure speed against a bare loop, robosuite and vla-eval
	@$(BIN)/python benchmarks/wires.py
	@$(BIN)/python benchmarks/batching.py
	@$(BIN)/python benchmarks/long_run.py
	@$(BIN)/python benchmarks/capability.py
	@$(BIN)/python benchmarks/bias.py
	@$(BIN)/python benchmarks/generating.py
	@$(BIN)/python benchmarks/stressors.py
	@$(BIN)/python benchmarks/path_distances.py
	@$(BIN)/python benchmarks/diagnosing.py
	@$(BIN)/python benchmarks/report.py
	@$(BIN)/python benchmarks/speed.py

validate-capability: setup  ## show that tasks measure what they say and none is passed blind (an hour; ARGS="--workers 16")
	@$(BIN)/python scripts/validate_capability.py $(ARGS)

validate-interventions: setup  ## run the expert on all that interventions make of all tasks (ARGS="--seeds 3 --workers 16")
	@$(BIN)/python scripts/validate_interventions.py $(ARGS)

reference-panel: setup  ## ask three other policies what each intervention does to them, for the diagnosis (half an hour)
	@$(BIN)/python scripts/reference_panel.py $(ARGS)

confounding: setup  ## show how far each recorded attribute of situations predicts each other, by suite and family (three minutes)
	@$(BIN)/python scripts/confounding.py $(ARGS)

aliasing: setup  ## measure how far factors of the generated situations go together and write the tables into the docs (four minutes)
	@$(BIN)/python scripts/aliasing.py $(ARGS)

vision-table: setup  ## run `vision` through the capability suite and write its table into the docs (an hour)
	@$(BIN)/python scripts/vision_table.py

learned-tables: setup  ## run `act`, `act_no_language` and `flow` through the capability suite and write their tables into the docs (easy tasks, ARGS="--tasks easy": four minutes)
	@$(BIN)/python scripts/learned_tables.py --docs $(ARGS)

bias-tables: setup  ## run three policies, with and without the grounding layer, through the suite bias and write the tables into the docs (three hours; it resumes)
	@$(BIN)/python scripts/bias_tables.py --docs $(ARGS)

metamorphic-tables: setup  ## run four policies and some whose consistency is known through the suite metamorphic and write the tables into the docs (two hours; it resumes)
	@$(BIN)/python scripts/metamorphic_tables.py --docs $(ARGS)

study: setup  ## take five policies through capability, isolation, stress and the diagnosis and write the tables into the docs (some hours on two cores; it resumes; ARGS="--mended FILE.onnx")
	@$(BIN)/python scripts/study.py --docs $(ARGS)

stress-table: setup  ## run `expert` and `vision` through the suite stress and write the tables into the docs (an hour)
	@$(BIN)/python scripts/stress_table.py

validation-table: setup  ## put the diagnosis to the test with planted faults and write the tables into the docs (ten hours on two cores; it resumes)
	@$(BIN)/python scripts/validation_table.py

null-table: setup  ## diagnose policies that fail by luck alone, 20 of each kind, and write into the docs how often a cause is claimed (two hours on two cores; it resumes)
	@$(BIN)/python scripts/validation_table.py --only-nulls $(ARGS)

why-table: setup  ## ask planted faults why they fail and write the table into the docs (ten minutes)
	@$(BIN)/python scripts/why_table.py

probe-table: setup  ## plant wrong conventions behind servers that declare nothing and write what the probe says into the docs (half an hour on 16 cores; it resumes; ARGS="--workers 16")
	@$(BIN)/python scripts/probe_table.py $(ARGS)

sequential-tests: setup  ## compare tests that may stop after any pair, STEP if it is there, and write the table into the docs (two minutes)
	@PYTHONPATH=scripts:.cache/step $(BIN)/python benchmarks/sequential_tests.py $(ARGS)

coverage: setup  ## simulate how often intervals hold and tests err, also of metamorphic runs, and how good the cliff search is (half an hour)
	@$(BIN)/python scripts/interval_coverage.py
	@$(BIN)/python scripts/metamorphic_coverage.py
	@$(BIN)/python scripts/cliff_coverage.py

vocabulary: setup  ## write the words of instructions into the docs, and the names that the Tab key offers (a few seconds)
	@$(BIN)/python scripts/vocabulary.py
	@$(BIN)/python scripts/completion_names.py

pictures: setup  ## draw the pictures of the docs
	@$(BIN)/python scripts/pictures.py

lock: setup  ## bring requirements.lock up to date with pyproject.toml
	@$(BIN)/uv pip compile pyproject.toml --extra dev --universal --generate-hashes --quiet \
		--no-header --no-annotate --no-emit-index-url -o requirements.lock

clean:  ## remove .venv and caches; runs/ stays
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
