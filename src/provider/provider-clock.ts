// The clock of a provider, as the Date of its last answer shows it.

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
