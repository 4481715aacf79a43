// The guards of a provider, from the inside to the outside: no proof by wrong clocks, no call or proof with
// another account than before, and no call while the provider fails. src/wiring.ts puts them around it.
import {
  BrokenCircuitError,
  CircuitState,
  circuitBreaker,
  ConsecutiveBreaker,
  handleWhenResult,
} from 'cockatiel'
import { type NotExecuted, isFinalOutcome, type Outcome } from '../domain/operations/outcome.ts'
import { notCalled, notLookedUp, unknown } from './call-outcomes.ts'
import { mapCalls, type ProviderCall, type LookupCriteria, type CallIdentity } from './calls.ts'
import type { PaymentProvider } from './payment-provider.ts'

export interface AccountGuardOptions {
  /** Records the account as the first one, unless one is recorded. Returns the recorded one. */
  readonly recordFirst: (account: string) => Promise<string>
  /** Called once when the account is another one. */
  readonly refused: (error: WrongAccountError) => void
  /** Called once when no answer names the account of the secret key. Then it is used unchecked. */
  readonly unchecked: () => void
}

/**
 * Keeps the service from using the secret key of another account than before. That account has none of our
 * payments: a new payment would be charged there, and a lookup would find nothing, which would count as
 * proof that a call did not happen: docs/decisions/0033-one-provider-account.md.
 *
 * Reads the account of the provider once, before the first call. Until then, and if it is not the
 * recorded account, no call is made: calls are `not_executed`, lookups `unknown`, and reads throw.
 * `readAccount` of the guarded provider only checks: it throws in these cases.
 */
export function guardAccount(
  provider: PaymentProvider,
  options: AccountGuardOptions,
): PaymentProvider {
  const check = checkOnce(provider, options)

  /** Why no call may be made; undefined when it may. */
  const objection = async (): Promise<string | undefined> =>
    await check().then(
      () => undefined,
      (error: unknown) => `the account is not checked: ${reasonOf(error)}`,
    )

  const unlessWrong = async <Answer>(
    name: string,
    make: () => Promise<Answer>,
  ): Promise<Answer | NotExecuted> => {
    const reason = await objection()
    if (reason === undefined) return await make()
    return notCalled(name, reason)
  }

  const guardCall = <Request, Value>(
    name: string,
    call: ProviderCall<Request, Value>,
  ): ProviderCall<Request, Value> => ({
    execute: (request, identity) => unlessWrong(name, () => call.execute(request, identity)),
    find: async (request, criteria) => {
      const reason = await objection()
      if (reason === undefined) return await call.find(request, criteria)
      return notLookedUp(name, reason)
    },
  })

  async function* afterCheck<Page>(list: () => AsyncIterable<Page>): AsyncIterable<Page> {
    await check()
    yield* list()
  }

  const afterChecking =
    <Found>(read: (id: string) => Promise<Found>) =>
    async (id: string): Promise<Found> => {
      await check()
      return await read(id)
    }

  return {
    name: provider.name,
    capabilities: provider.capabilities,
    calls: mapCalls(provider.calls, guardCall),
    readAccount: check,
    retrieve: (payment) => unlessWrong('retrieve', () => provider.retrieve(payment)),
    retrieveRefund: (refund) =>
      unlessWrong('retrieveRefund', () => provider.retrieveRefund(refund)),
    retrieveDispute: (dispute) =>
      unlessWrong('retrieveDispute', () => provider.retrieveDispute(dispute)),
    listPayments: (...asked) => afterCheck(() => provider.listPayments(...asked)),
    listRefunds: (...asked) => afterCheck(() => provider.listRefunds(...asked)),
    listDisputes: (...asked) => afterCheck(() => provider.listDisputes(...asked)),
    listMovements: (...asked) => afterCheck(() => provider.listMovements(...asked)),
    readPayment: afterChecking((id) => provider.readPayment(id)),
    readRefund: afterChecking((id) => provider.readRefund(id)),
    readDispute: afterChecking((id) => provider.readDispute(id)),
    readEarlyFraudWarning: afterChecking((id) => provider.readEarlyFraudWarning(id)),
  }
}

/** Returns the check, which succeeds or finds a wrong account only once. */
function checkOnce(
  provider: PaymentProvider,
  { recordFirst, refused, unchecked }: AccountGuardOptions,
): PaymentProvider['readAccount'] {
  let known: Promise<string | undefined> | undefined
  const read = async (): Promise<string | undefined> => {
    const account = await provider.readAccount()
    if (account === undefined) {
      unchecked()
      return undefined
    }
    const first = await recordFirst(account)
    if (first === account) return account
    const error = new WrongAccountError(account, first)
    refused(error)
    throw error
  }
  return async () => {
    const checking = (known ??= read())
    try {
      return await checking
    } catch (error) {
      // A wrong account stays wrong until the process gets another key.
      if (!(error instanceof WrongAccountError) && known === checking) known = undefined
      throw error
    }
  }
}

/** The secret key belongs to another account, or another mode of it, than the database. */
export class WrongAccountError extends Error {
  override name = 'WrongAccountError'

  constructor(account: string, first: string) {
    super(`the secret key belongs to ${account}, and the payments of this database to ${first}`)
  }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/**
 * How far our clocks may be from the provider's: half of what the window of a lookup allows for, which
 * is the tolerance of Stripe's signatures. The other half is for the time that a lookup takes.
 */
export const CLOCK_TOLERANCE_SECONDS = 150

/** What the database says about the clocks. */
interface DatabaseClock {
  readonly nowMs: number
  /** When a clock was last seen apart from the provider's, and how far one has been, at most. */
  readonly apart: { readonly atMs: number; readonly seconds: number } | null
}

export interface ClockGuardOptions {
  readonly clock: ProviderClock
  readonly readDatabaseClock: () => Promise<DatabaseClock>
  /** Called when a lookup finds a clock of ours apart from the provider's. */
  readonly apart: (seconds: number) => Promise<void>
}

/**
 * Guards the lookup of an authorization, the only one whose proof depends on times: the provider dates its
 * objects by its own clock, and the lookup reads a window of our clocks. While our clocks are apart from the provider's, or its answer has no Date, it does not prove absence: the outcome is
 * `unknown`, as after a lookup that failed. A clock that was corrected has dated calls before, so
 * the window of those is longer by as much as it was apart.
 */
export function guardClock(provider: PaymentProvider, options: ClockGuardOptions): PaymentProvider {
  const { authorize } = provider.calls
  const find: typeof authorize.find = async (request, criteria) => {
    const database = await options.readDatabaseClock()
    const readAtMs = performance.now()
    const outcome = await authorize.find(request, longerWindow(criteria, database))
    if (outcome.outcome !== 'not_executed') return outcome
    const providerMs = options.clock.nowMs()
    const doubt = (reason: string) =>
      unknown(outcome.asked, { ...outcome.answered, error: reason, looked: false }, reason)
    if (providerMs === undefined) return doubt('the answer has no Date to compare the clocks with')
    const databaseMs = database.nowMs + performance.now() - readAtMs
    const seconds = Math.max(
      secondsApart(databaseMs, providerMs),
      secondsApart(Date.now(), providerMs),
    )
    if (seconds <= CLOCK_TOLERANCE_SECONDS) return outcome
    await options.apart(seconds)
    return doubt(`the clocks here and at the provider are ${seconds} s apart`)
  }
  return { ...provider, calls: { ...provider.calls, authorize: { ...authorize, find } } }
}

const secondsApart = (ourMs: number, theirMs: number) =>
  Math.round(Math.abs(ourMs - theirMs) / 1_000)

/** For so long after a clock was seen apart, it may have been so without being seen. */
const UNSEEN_MS = 60 * 60 * 1_000

function longerWindow(criteria: LookupCriteria, { apart }: DatabaseClock): LookupCriteria {
  if (apart === null) return criteria
  const apartMs = apart.seconds * 1_000
  if (criteria.executedFrom.getTime() > apart.atMs + apartMs + UNSEEN_MS) return criteria
  return {
    ...criteria,
    executedFrom: new Date(criteria.executedFrom.getTime() - apartMs),
    executedTo: new Date(criteria.executedTo.getTime() + apartMs),
  }
}

export interface ProviderClock {
  /** Notes the Date of an answer that has just arrived. */
  readonly note: (date: unknown) => void
  /** The provider's time now, in milliseconds since 1970. Undefined before its first answer. */
  readonly nowMs: () => number | undefined
}

/** A Date has whole seconds, so this is its mean error. */
const HALF_SECOND_MS = 500

/** @param noted is called after each answer. */
export function createProviderClock(noted: () => void = () => {}): ProviderClock {
  let last: { readonly dateMs: number; readonly atMs: number } | undefined
  return {
    note(date) {
      const dateMs = typeof date === 'string' ? Date.parse(date) : Number.NaN
      // An answer without a readable Date does not confirm an earlier one.
      last = Number.isNaN(dateMs) ? undefined : { dateMs, atMs: performance.now() }
      noted()
    },
    nowMs: () => last && last.dateMs + HALF_SECOND_MS + performance.now() - last.atMs,
  }
}

export interface ProviderBreakerSettings {
  /** How many consecutive calls without a final outcome open the circuit; 0: it never opens. */
  readonly failures: number
  readonly openMs: number
}

const REASON = 'the provider has failed repeatedly, and is not called for a moment'

/**
 * Makes no call for a while after repeated failures; then one call tests whether the provider works again.
 * A call that is not made is `not_executed`; an operation that was in doubt stays in doubt, because the
 * engine stores that in its row. Guards the calls that move money, but not lookups: `not_executed` of a
 * lookup means that the call did not happen, which a lookup that was not made cannot prove.
 *
 * @param turned is called when the circuit opens, and when it closes again.
 */
export function withCircuitBreaker(
  provider: PaymentProvider,
  { failures, openMs }: ProviderBreakerSettings,
  turned: (isOpen: boolean) => void = () => {},
): PaymentProvider {
  if (failures === 0) return provider
  const breaker = circuitBreaker(handleWhenResult(isFailure), {
    breaker: new ConsecutiveBreaker(failures),
    halfOpenAfter: openMs,
  })
  // A half-open circuit admits one call and is still open for all others.
  breaker.onStateChange((state) => turned(state !== CircuitState.Closed))
  const guarded =
    <Request, Value>(name: string, call: ProviderCall<Request, Value>['execute']) =>
    async (request: Request, identity: CallIdentity): Promise<Outcome<Value>> => {
      // In the package, the call would wait for the one that tests, and its lease would expire.
      if (breaker.state === CircuitState.HalfOpen) return circuitOpen(name)
      try {
        return await breaker.execute(() => call(request, identity))
      } catch (error) {
        if (error instanceof BrokenCircuitError) return circuitOpen(name)
        throw error
      }
    }
  const guardCall = <Request, Value>(name: string, call: ProviderCall<Request, Value>) => ({
    ...call,
    execute: guarded(name, call.execute),
  })
  return { ...provider, calls: mapCalls(provider.calls, guardCall) }
}

/** A refusal of one object must not stop the calls on others. */
function isFailure(result: unknown): boolean {
  const outcome = result as Outcome<unknown>
  return !isFinalOutcome(outcome) && !(outcome.outcome === 'not_executed' && outcome.aboutObject)
}

function circuitOpen(call: string): NotExecuted {
  return { ...notCalled(call, REASON), retryLater: true }
}
