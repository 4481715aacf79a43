// The stack of a run: `npm start` on free ports, in a temporary folder, with short time limits.
import { randomBytes } from 'node:crypto'
import { startNodeProcess } from '../../dev/stack/node-process.ts'
import { findFreePort } from '../../dev/ports.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../../dev/embedded-postgres/throwaway-folder.ts'
import type { Target } from './arguments.ts'

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
  const [url, providerUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${providerPort}`]
  return { url, providerUrl, apiKey, remove }
}
