// Keeps a lookup from proving by wrong clocks that an authorization was not executed. The provider
// dates its objects by its own clock, and the lookup reads a window of our clocks: if they differ by
// more than the window allows for, an executed authorization is outside of it.
import { unknown } from './call-outcomes.ts'
import type { PaymentProvider } from './payment-provider.ts'
import type { LookupCriteria } from './calls.ts'

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
 * Guards the lookup of an authorization, the only one whose proof depends on times. While our clocks
 * are apart from the provider's, or its answer has no Date, it does not prove absence: the outcome is
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
