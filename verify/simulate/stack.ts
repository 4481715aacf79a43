// The stack of a run: `npm start` on free ports, in a temporary folder, with short time limits, or
// one that runs. A request checks that its parts belong together.
import { randomBytes } from 'node:crypto'
import { startNodeProcess } from '../../dev/stack/node-process.ts'
import { findFreePort } from '../../dev/ports.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../../dev/embedded-postgres/throwaway-folder.ts'
import { unwrap } from '../../client/errors.ts'
import { createClient } from '../../client/index.ts'
import type { Target } from './arguments.ts'
import { providerAt } from './faults.ts'

const STOP_LIMIT_MS = 20_000
const KEPT_LINES = 40

/** Unknown outcomes are looked up soon. With the default limits that takes more than a minute. */
const SHORT_LIMITS = {
  TEST_CONSTANTS: 'true',
  PROVIDER_TIMEOUT_MS: '2000',
  LEASE_MS: '5000',
  CHECK_DELAYS_SECONDS: '1,3,6,9,15,30,60',
  CHECK_ON_READ_SECONDS: '1',
  PROVIDER_SETTLE_SECONDS: '5',
  // Provider calls are abandoned soon, so that there are unknown outcomes to look up.
  CALL_ATTEMPTS: '2',
  JOB_RETRY_LIMIT: '1',
  PROVIDER_OUTAGE_SECONDS: '0',
  // One tenant sends everything.
  RATE_LIMIT_WRITES: '1000000',
  MAX_ACTIVE_KEYS: '1000000',
  LOG_LEVEL: 'error',
}

export interface Stack extends Target {
  /** Removes the stack, if it was started for this run. */
  remove(): Promise<void>
}

/** @throws Error with the last log lines if the stack does not start. */
export async function startStack(): Promise<Stack> {
  const folder = await makeThrowawayFolder('simulate')
  const apiKey = `sk_test_${randomBytes(16).toString('hex')}`
  const [port, providerPort] = [await findFreePort(), await findFreePort()]
  const lines: string[] = []
  const ready = Promise.withResolvers<void>()
  const process = startNodeProcess({
    script: 'dev/stack/main.ts',
    settings: {
      ...SHORT_LIMITS,
      DATA_DIR: folder,
      PORT: String(port),
      MOCK_PROVIDER_PORT: String(providerPort),
      DEMO_API_KEY: apiKey,
    },
    stopLimitMs: STOP_LIMIT_MS,
    log(line) {
      lines.push(line)
      if (lines.length > KEPT_LINES) lines.shift()
      if (line.startsWith('ready ')) ready.resolve()
    },
  })
  const remove = async () => {
    process.stop()
    await process.ended
    await removeThrowawayFolder(folder)
  }
  // The launcher has no ready signal: it only prints a line. `process.ready` can only reject.
  await Promise.race([ready.promise, process.ready]).catch(async (cause: unknown) => {
    await remove()
    throw new Error(`the stack did not start:\n${lines.join('\n')}`, { cause })
  })
  return { url: urlAt(port), providerUrl: urlAt(providerPort), apiKey, remove }
}

function urlAt(port: number): string {
  return `http://127.0.0.1:${port}`
}

/**
 * Checks with one payment that the API accepts payments and calls the provider whose log is read.
 *
 * @throws Error that says what is wrong.
 */
export async function checkTarget({ url, apiKey, providerUrl }: Target): Promise<void> {
  const ready = await fetch(`${url}/readyz`).catch(() => undefined)
  if (ready?.ok !== true) throw new Error(`no API is ready at ${url}`)
  const provider = providerAt(providerUrl)
  await provider.checkHealth().catch((cause: unknown) => {
    throw new Error(`no Stripe stand-in answers at ${providerUrl}`, { cause })
  })
  const client = createClient({ baseUrl: url, apiKey, retry: { deadlineMs: 20_000 } })
  const { id } = unwrap(
    await client.POST('/v1/payments', {
      idempotencyKey: crypto.randomUUID(),
      params: { header: { Prefer: 'wait=10' } },
      body: { amount: 100, currency: 'usd', payment_method: 'pm_card_visa' },
    }),
  )
  const executed = await provider.listExecuted()
  if (executed.some(({ metadata }) => metadata['atomic_payment'] === id)) return
  throw new Error(`the API at ${url} uses another provider than ${providerUrl}`)
}
