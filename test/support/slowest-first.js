// Jest sequencer: starts the slowest files first, so that all workers finish at about the same
// time, and those with the shared service last, because it costs 5 % of a core also when no file
// uses it. Without it, jest goes by its records of earlier runs, which a fresh checkout does not have.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import TestSequencer from '@jest/test-sequencer'

const TESTS = fileURLToPath(new URL('..', import.meta.url))

/** Files that take long on two cores, slowest first: those of `npm test`, then the others. */
const SLOWEST = [
  'webhooks/rude-receivers.test.ts',
  'provider/contract/lost-answers.test.ts',
  'properties/operations.test.ts',
  'client/no-answer.test.ts',
  'webhooks/retry-after.test.ts',
  'http/limits/api-server.test.ts',
  'recovery/outcome-resolver.test.ts',
  'verify/fuzz/fuzz.test.ts',
  'http/idempotency-keys/stored-answers.test.ts',
  'workers/fair-work.test.ts',
  'workers/queue-groups.test.ts',
  'webhooks/no-public-address.test.ts',
  'provider/stripe/stripe-provider.test.ts',
  'security/foreign-ids.test.ts',
  'reconciliation/carry-out-run.test.ts',
  'http/webhooks/webhook-operations.test.ts',
  'tracing/traces.test.ts',
  'http/webhooks/webhook-endpoints.test.ts',
  'provider/contract/lists.test.ts',
  'operations/apply-provider-event.test.ts',
  'http/rude-clients/half-open.test.ts',
  'console/console.system.test.ts',
  'dev/break-it/page.system.test.ts',
  'alerts/request-outages.system.test.ts',
  'console/unknown-outcome.system.test.ts',
  'alerts/worker-outages.system.test.ts',
  'alerts/store-outages.system.test.ts',
  'dev/stack/stack.system.test.ts',
  'db/connection/odd-defaults.system.test.ts',
  'console/pages.system.test.ts',
  'deploy/rolling-deploy.system.test.ts',
  'alerts/provider-outages.system.test.ts',
  'crashes/failover.system.test.ts',
  'dev/new-operation.system.test.ts',
  'verify/simulate/simulate.system.test.ts',
  'deploy/image.system.test.ts',
  'deploy/poolers.system.test.ts',
  'start/rotate-encryption.system.test.ts',
].map((file) => join(TESTS, file))

const SHARED_SERVICE = /\/(shared|worker)-service\.ts'/

const missing = SLOWEST.filter((path) => !existsSync(path))
if (missing.length > 0) throw new Error(`no such test file: ${missing.join(', ')}`)

const rankOf = ({ path }) => {
  const place = SLOWEST.indexOf(path)
  const rank = place < 0 ? SLOWEST.length : place
  return SHARED_SERVICE.test(readFileSync(path, 'utf8')) ? SLOWEST.length + 1 + rank : rank
}

export default class SlowestFirst extends TestSequencer {
  sort(tests) {
    const ranks = new Map(tests.map((test) => [test, rankOf(test)]))
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of jest's class
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of jest's class
    return super.sort(tests).toSorted((one, other) => ranks.get(one) - ranks.get(other))
  }
}
