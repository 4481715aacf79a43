// Engines to which something happens at a chosen moment: around a foreign call, or around a commit.
import type { Outcome } from '../../src/domain/operations/outcome.ts'
import type { Engine } from '../../src/operations/engine.ts'

export type ForeignCall = 'authorize' | 'capture' | 'cancel' | 'refund'

/** An engine for which every try is the last. */
export function withoutRetries(engine: Engine): Engine {
  return { ...engine, settings: { ...engine.settings, JOB_RETRY_LIMIT: 0 } }
}

/** The real provider, with something done around one of its calls. */
export function aroundCall(
  engine: Engine,
  call: ForeignCall,
  wrapper: (original: () => Promise<Outcome<never>>) => Promise<unknown>,
): Engine {
  const { provider } = engine
  const original = provider[call] as (...asked: unknown[]) => Promise<Outcome<never>>
  const wrapped = (...asked: unknown[]) => wrapper(() => original(...asked))
  return { ...engine, provider: { ...provider, [call]: wrapped } }
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
