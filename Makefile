# Every target is one or a few lines; the work is in tools/. 'make help' lists them.
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/.tools/bin:$(PATH):/usr/sbin:/sbin
export WARMFLEET_PROJECT ?= $(CURDIR)/stacks
WARMFLEET_ENVIRONMENT ?= lab

ROOMS := spec catalog resolve sizing network plan provider stack inventory converge telemetry deploy operate cli inference-app \
  edge-proxy faults roles docs tools
AS_ROOT := tools/as_root.sh
.NOTPARALLEL:  # venv needs what system installs; what can run side by side does so in stages.py
.DEFAULT_GOAL := help

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9 %-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile
	@echo '  make test-ROOM      unit tests of one room: $(ROOMS)'

up: system venv  ## from nothing to a warm endpoint in the lab
	@python tools/stages.py up

down: venv  ## destroy the lab, leaving nothing behind
	@python tools/stages.py down

check: venv  ## format, lint, types, unit tests (at most 3 minutes)
	@python tools/stages.py check

test: system-test venv  ## every test, with the set-up where it is missing (at most 45 minutes)
	@python tools/stages.py test

format: venv  ## format and fix what ruff can
	ruff format . && ruff check --fix .

# What handles containers, or a proxy of the whole machine, runs as root, as the stages do.
define test_room
	$(if $(findstring machine,$(subst not machine,,$(MARKS))),$(AS_ROOT) )pytest $(if $(MARKS),-m '$(MARKS)') tests/$(subst -,_,$*)
endef
$(filter-out test-edge-proxy,$(ROOMS:%=test-%)): test-%: venv
	$(test_room)
test-edge-proxy: MARKS := machine
test-edge-proxy: test-%: system-test venv
	$(test_room)

molecule: venv image  ## test roles in containers; ROLE=edge_proxy for one
	$(AS_ROOT) molecule test $(if $(ROLE),--scenario-name $(ROLE),--all)

e2e: venv tools image wheelhouse  ## a fleet of its own, from pulumi up to a request, and down again
	$(AS_ROOT) pytest -m 'machine and engine' tests/e2e

bench: venv  ## the quick form of every benchmark
	python tools/benchmarks.py --quick

soak: venv  ## the long form of every benchmark; results go to benchmarks/results
	python tools/benchmarks.py

wheel: venv  ## build the wheel into dist/
	uv build --quiet --wheel --offline --no-build-isolation --out-dir dist

system:  ## install the Debian packages that are missing
	@tools/system.sh up

system-test:
	@tools/system.sh test

venv:  ## .venv from requirements.lock
	@tools/venv.sh

tools: venv  ## the Pulumi CLI and a Python language host in .tools/bin
	@python tools/pulumi_cli.py

image: venv  ## the podman image of a lab host
	@python -m warmfleet.provider.image

wheelhouse: venv  ## wheels and weights that hosts get from this machine
	@python -m warmfleet.converge.wheelhouse $(WARMFLEET_ENVIRONMENT)

lock: venv  ## resolve pyproject.toml into the lock files
	tools/lock.sh

schema: venv  ## JSON Schema of the spec, for editors
	warmfleet schema > stacks/specs/schema.json

docs: venv  ## generated parts of the documentation
	python tools/role_readme.py && python tools/spec_reference.py && python tools/performance.py

clean:  ## remove what make made in this folder; the lab must be down
	@tools/clean.sh

.PHONY: help up down check test format molecule e2e bench soak wheel system system-test venv tools image wheelhouse lock schema docs clean $(ROOMS:%=test-%)
