// Jest sequencer: starts the slowest files first, so that all workers finish at about the same
// time. Without it, jest goes by its records of earlier runs, which a fresh checkout does not have.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import TestSequencer from '@jest/test-sequencer'

const TESTS = fileURLToPath(new URL('..', import.meta.url))

/**
 * Files that take twelve seconds or more, slowest first. Those of the alerts mostly wait, so others are
 * among them.
 */
const SLOWEST = [
  'alerts/store-outages.system.test.ts',
  'properties/operations.test.ts',
  'alerts/worker-outages.system.test.ts',
  'dev/stack/stack.system.test.ts',
  'alerts/request-outages.system.test.ts',
  'verify/simulate/simulate.system.test.ts',
  'alerts/provider-outages.system.test.ts',
  'verify/fuzz/fuzz.test.ts',
  'verify/faults/real-lanes.system.test.ts',
  'http/limits/api-server.test.ts',
  'reconciliation/carry-out-run.test.ts',
  'provider/stripe/stripe-provider.test.ts',
  'security/foreign-ids.test.ts',
  'deploy/rolling-deploy.system.test.ts',
  'dev/new-operation.system.test.ts',
  'http/rude-clients/half-open.test.ts',
  'http/rude-clients/disconnects.test.ts',
  'http/webhooks/webhook-endpoints.test.ts',
  'client/real-faults.system.test.ts',
  'deploy/graceful-stop.system.test.ts',
  'tracing/traces.test.ts',
  'crashes/worker-killed.system.test.ts',
  'provider/stripe/records/records.test.ts',
  'http/responses/stripe-package.test.ts',
  'dev/embedded-postgres/postgres.test.ts',
  'http/rude-clients/crowd.system.test.ts',
  'workers/reconciliation-worker.test.ts',
  'http/admin/dead-letters.test.ts',
].map((file) => join(TESTS, file))

const missing = SLOWEST.filter((path) => !existsSync(path))
if (missing.length > 0) throw new Error(`no such test file: ${missing.join(', ')}`)

const rankOf = ({ path }) => {
  const place = SLOWEST.indexOf(path)
  return place < 0 ? SLOWEST.length : place
}

export default class SlowestFirst extends TestSequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of jest's class
    return super.sort(tests).toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}
