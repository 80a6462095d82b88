SHELL := /bin/bash
NODE := node_modules/.bin/node
INSTALLED := node_modules/.installed
SERVERS := $(NODE) test/servers/prepare.ts

.DEFAULT_GOAL := help
# Targets share dist/ and the cores: one after the other, also with -j.
.NOTPARALLEL:
.PHONY: help demo picture servers test test-full test-node lint types unit e2e bench soak build docs release format clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): package.json package-lock.json
	npm ci --fetch-retries=5 --include=dev --no-fund --no-audit --loglevel=error
	@touch $@

demo: $(INSTALLED) ## Back up a real Kafka on this machine, lose it, restore it, prove it
	@$(SERVERS) demo
	@$(NODE) demo/main.ts

picture: $(INSTALLED) ## Draw docs/demo.svg from a run of the demo
	@$(SERVERS) demo
	@$(NODE) demo/main.ts | tee /dev/stderr > demo/demo.log && $(NODE) demo/picture.ts demo/demo.log; rm -f demo/demo.log

servers: $(INSTALLED) ## Install, download and build every server that tests, demo and bench use
	@$(SERVERS) all

# Of the servers, what the tests need: all before the first test, after the checks that take a minute.
.PHONY: test-servers
test-servers: $(INSTALLED)
	@$(SERVERS) test

# The build does not check the types again, which `types` has done before.
test: export TSC_FLAGS := --noCheck
test: lint types test-servers unit e2e ## Run every check: lint, types, unit, architecture, docs, end to end

test-full: export TEST_FULL := 1
test-full: test ## Run the same with every case of the long matrices

test-node: export TEST_FULL := 1
test-node: test-servers build ## Run the tests on a real Kubernetes node, which needs root
	@$(NODE) test/run-e2e.ts test/e2e/real-node.test.ts test/servers/node/node.test.ts

lint: $(INSTALLED) ## Lint and check the formatting
	@npm run --silent lint

types: $(INSTALLED) ## Check the types
	@npm run --silent types

unit: $(INSTALLED) ## Run the tests that need no server
	@$(NODE) test/run-unit.ts

e2e: $(INSTALLED) test-servers build ## Run the tests against real servers
	@$(NODE) test/run-e2e.ts

bench: $(INSTALLED) build ## Measure against kcat and Kafka's own tools
	@$(SERVERS) bench
	@$(NODE) bench/main.ts

soak: $(INSTALLED) build ## Break it for half an hour (SOAK_MINUTES=…) and write the figures
	@$(NODE) test/fuzz/soak.ts
	@HOSTILE_SHARE=1 $(NODE) --test test/hostile/hostile.test.ts
	@$(SERVERS) soak
	@[ "$(SOAK_PART)" = operator ] || $(NODE) test/faults/soak.ts
	@[ -n "$(SOAK_PART)" ] && [ "$(SOAK_PART)" != operator ] || TEST_FULL=1 OPERATOR_ROUNDS=all $(NODE) --test --test-concurrency=1 test/faults/operator-*.test.ts

build: $(INSTALLED) ## Compile to dist/
	@npm run --silent build

docs: $(INSTALLED) ## Write the generated tables into docs/
	@$(NODE) docs/generate.ts

release: $(INSTALLED) build ## Build package, executable, chart, image, bill of materials and checksums into release/; publish nothing
	@$(SERVERS) release
	@$(NODE) deploy/release/main.ts

format: $(INSTALLED) ## Format and fix what the linter can
	@npm run --silent format

clean: ## Remove what was built here (not the per-user cache of servers)
	rm -rf dist node_modules release bench/data *.tgz
