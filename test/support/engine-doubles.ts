// Engines to which something happens at a chosen moment: around a foreign call, or around a commit.
import type { Outcome } from '../../src/domain/operations/outcome.ts'
import type { Payment } from '../../src/domain/payments/payment.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { CallIdentity, CallName, ProviderCall } from '../../src/provider/payment-provider.ts'

/** An engine for which every try is the last. */
export function withoutRetries(engine: Engine): Engine {
  return { ...engine, settings: { ...engine.settings, JOB_RETRY_LIMIT: 0 } }
}

/** The real provider, with something done around one of its calls. */
export function aroundCall(
  engine: Engine,
  call: CallName,
  wrapper: (
    original: () => Promise<Outcome<never>>,
    request: { readonly payment: Payment },
  ) => Promise<unknown>,
): Engine {
  const { provider } = engine
  const { execute, find } = provider.calls[call] as ProviderCall<unknown, never>
  const wrapped = (request: { readonly payment: Payment }, identity: CallIdentity) =>
    wrapper(() => execute(request, identity), request)
  const calls = { ...provider.calls, [call]: { execute: wrapped, find } }
  return { ...engine, provider: { ...provider, calls } }
}

/** How the statement that records a phase begins; it commits by itself. */
const RECORD = /^\s*with held as/

/** An engine whose transactions, and records of phases, are begun by the test. */
export function aroundCommit(
  engine: Engine,
  begin: (commit: () => Promise<unknown>) => Promise<unknown>,
): Engine {
  const { store } = engine
  const sql = new Proxy(store.sql, {
    get(target, name) {
      if (name !== 'begin') return Reflect.get(target, name) as unknown
      return (work: never) => begin(() => target.begin(work))
    },
    apply(target, _, [strings, ...values]: [TemplateStringsArray, ...never[]]) {
      const run = () => target(strings, ...values)
      return RECORD.test(String(strings[0])) ? begin(async () => await run()) : run()
    },
  })
  return { ...engine, store: { ...store, sql } }
}

export const connectionLost = () => Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })
