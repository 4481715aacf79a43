// Runs the operators' API for tests: over HTTP, under the service's role, on the database of a test
// engine. The test can therefore create operations in any state.
import type { Server } from 'node:http'
import { expect } from '@jest/globals'
import pino from 'pino'
import { readConfig } from '../../src/config.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { wireApi } from '../../src/wiring.ts'
import { ENCRYPTION_KEYS } from './encryption.ts'
import { read } from './client.ts'
import { fetchApi } from './documented.ts'
import { withoutRetries } from './engine-doubles.ts'
import { startTestEngine, type Accepted, type TestEngine } from './engine.ts'
import { serveApi, type ServedApi } from './served-api.ts'
import { until } from './until.ts'

/** Windows end by the clock: one of a minute might within a test. */
export const LONG_WINDOW = { RATE_LIMIT_WINDOW_SECONDS: '3600' }

export const OPERATORS = {
  alice: 'adm_alice_0123456789abcdef0123',
  bob: 'adm_bob_0123456789abcdef012345',
}
type Operator = keyof typeof OPERATORS

/** Sends requests to an API, by default as alice. */
export function operatorsOf(url: string) {
  const ask = async (method: string, path: string, operator: Operator, body?: unknown) => {
    const headers: Record<string, string> = { authorization: `Bearer ${OPERATORS[operator]}` }
    if (body === undefined) return await read(await fetchApi(`${url}${path}`, { method, headers }))
    headers['content-type'] = 'application/json'
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return await read(await fetchApi(`${url}${path}`, { method, headers, body: text }))
  }
  return {
    get: (path: string, operator: Operator = 'alice') => ask('GET', path, operator),
    post: (path: string, body?: unknown, operator: Operator = 'alice') =>
      ask('POST', path, operator, body),
    remove: (path: string, operator: Operator = 'alice') => ask('DELETE', path, operator),
  }
}

export interface AdminApi extends ReturnType<typeof operatorsOf> {
  readonly t: TestEngine
  readonly url: string
  readonly server: Server
  /** Reads the audit trail of a subject, oldest first, without ids and times. */
  trailOf(subject: string | null): Promise<object[]>
  /** Starts another API on the same database, with other settings. */
  serve(settings: Record<string, string>): Promise<string>
  stop(): Promise<void>
}

export async function startAdminApi(settings: Record<string, string> = {}): Promise<AdminApi> {
  const t = await startTestEngine()
  const running: ServedApi[] = []
  const listen = async (own: Record<string, string>): Promise<ServedApi> => {
    const environment = {
      DATABASE_URL: t.databaseUrl,
      DATABASE_POOL_SIZE: '3',
      ENCRYPTION_KEYS,
      WAIT_SECONDS: '0',
      // No worker looks while a request waits, except in tests that say so.
      WAIT_MAX_SECONDS: '0',
      ADMIN_API_KEY: Object.entries(OPERATORS).join(',').replaceAll(',adm', '=adm'),
      ...own,
    }
    const log = pino({ level: 'silent' })
    const served = await serveApi(await wireApi(readConfig(environment), log))
    running.push(served)
    return served
  }
  const { url, server } = await listen(settings)
  return {
    t,
    url,
    server,
    serve: async (own) => (await listen(own)).url,
    ...operatorsOf(url),
    async trailOf(subject) {
      return await t.engine.store.sql`
        select actor, action, details from admin_actions
        where subject is not distinct from ${subject} order by happened_at, id
      `
    },
    async stop() {
      for (const served of running) await served.stop()
      await t.stop()
    },
  }
}

export const shownId = ({ id }: { id: string }): string => showId('op', id)

/**
 * Runs an operation while the fault is injected into all of its provider calls, without retries.
 */
export async function runUnderFault(
  { t }: AdminApi,
  ref: Accepted,
  fault: string,
  expected = 'gave_up',
): Promise<void> {
  await t.provider.addFault({ match: {}, fault, times: t.engine.settings.CALL_ATTEMPTS })
  expect(await runOperation(withoutRetries(t.engine), ref)).toBe(expected)
  await t.provider.control('DELETE', '/faults')
}

/** Lets a worker look up what is due, again and again, until the work has ended. */
export async function whileLookedUp<Value>({ t }: AdminApi, work: Promise<Value>): Promise<Value> {
  let hasEnded = false
  const end = work.finally(() => (hasEnded = true))
  await until(async () => {
    await resolveDue(t.engine)
    return hasEnded
  })
  return await end
}

/** Creates a payment with an unknown outcome. The stand-in charged it. */
export async function makeUnknown(api: AdminApi): Promise<Accepted> {
  const ref = await api.t.accept()
  await runUnderFault(api, ref, 'nonsense_body')
  return ref
}

/** Creates a failed payment. It is proved that it was not charged. */
export async function makeFailed(api: AdminApi): Promise<Accepted> {
  const ref = await api.t.accept()
  await runUnderFault(api, ref, 'rate_limited')
  return ref
}

export async function makeCompleted({ t }: AdminApi): Promise<Accepted> {
  const ref = await t.accept()
  expect(await runOperation(t.engine, ref)).toBe('finished')
  return ref
}

/** Creates an operation whose owner died during a phase. */
export async function makeAbandoned({ t }: AdminApi): Promise<Accepted> {
  const ref = await t.accept()
  await t.engine.store.sql`
    update idempotency_keys set
      status = 'processing', lease_epoch = 1, attempts = 1, phase_began_at = now(),
      lease_expires_at = now() - interval '1 second'
    where id = ${ref.id}
  `
  return ref
}
