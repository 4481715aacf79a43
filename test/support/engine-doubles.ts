// Creates engines that run test code at a chosen moment: around a provider call, or around a
// commit.
import type { Outcome } from '../../src/domain/operations/outcome.ts'
import type { Payment } from '../../src/domain/payments/payment.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type {
  CallIdentity,
  CallName,
  PaymentProvider,
  ProviderCall,
} from '../../src/provider/payment-provider.ts'
import { createProviders } from '../../src/provider/providers.ts'

/** The only provider of a test's engine. */
export function stripeOf({ providers }: Pick<Engine, 'providers'>): PaymentProvider {
  return providers.named('stripe')
}

/** Returns an engine, or parts of one, with this provider alone. */
export function withProvider<Parts extends Pick<Engine, 'providers'>>(
  parts: Parts,
  provider: PaymentProvider,
): Parts {
  return { ...parts, providers: createProviders([provider]) }
}

/** Returns an engine for which every attempt is the last one. */
export function withoutRetries(engine: Engine): Engine {
  return {
    ...engine,
    settings: { ...engine.settings, JOB_RETRY_LIMIT: 0, PROVIDER_OUTAGE_SECONDS: 0 },
  }
}

/** Returns an engine that runs the wrapper around one call of the real provider. */
export function aroundCall(
  engine: Engine,
  call: CallName,
  wrapper: (
    original: () => Promise<Outcome<never>>,
    request: { readonly payment: Payment },
  ) => Promise<unknown>,
): Engine {
  const provider = stripeOf(engine)
  const { execute, find } = provider.calls[call] as ProviderCall<unknown, never>
  const wrapped = (request: { readonly payment: Payment }, identity: CallIdentity) =>
    wrapper(() => execute(request, identity), request)
  const calls = { ...provider.calls, [call]: { execute: wrapped, find } }
  return withProvider(engine, { ...provider, calls })
}

/** Returns an engine that runs `begin` around each transaction. */
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
  })
  return { ...engine, store: { ...store, sql } }
}

export const connectionLost = () => Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })
