// Creates engines that run test code at a chosen moment: around a provider call, or around a
// commit. Crashes, lost commits and last tries that many tests need.
import { expect } from '@jest/globals'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import type { Outcome } from '../../src/domain/operations/outcome.ts'
import type { Payment } from '../../src/domain/payments/payment.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import type { CallIdentity, CallName, ProviderCall } from '../../src/provider/calls.ts'
import type { PaymentProvider } from '../../src/provider/payment-provider.ts'
import { createProviders } from '../../src/provider/providers.ts'
import type { TestEngine } from './engine.ts'

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

/** Lets the owner of an operation die when it records the phase from this recovery point. */
export async function dieAt(t: TestEngine, ref: OperationRef, point: string): Promise<void> {
  const dying = aroundCommit(t.engine, async (commit) => {
    if ((await t.readKey(ref))['recovery_point'] === point) throw new Error('the process died')
    return commit()
  })
  await expect(runOperation(dying, ref)).rejects.toThrow('the process died')
}

/** Runs an operation to its end. The acknowledgment of the commit at this recovery point is lost. */
export async function runLosingCommit(
  t: TestEngine,
  ref: OperationRef,
  point: string,
): Promise<void> {
  let lost = 0
  const losing = aroundCommit(t.engine, async (commit) => {
    const at = (await t.readKey(ref))['recovery_point']
    const result = await commit()
    if (at !== point) return result
    lost += 1
    throw connectionLost()
  })
  expect(await runOperation(losing, ref)).toBe('finished')
  expect(lost).toBe(1)
}

/** Runs an operation for the last time. Its calls that match get this fault. */
export async function giveUp(
  t: TestEngine,
  ref: OperationRef,
  match: object,
  fault = 'rate_limited',
): Promise<void> {
  await t.provider.addFault({ match, fault, times: t.engine.settings.CALL_ATTEMPTS })
  expect(await runOperation(withoutRetries(t.engine), ref)).toBe('gave_up')
}
