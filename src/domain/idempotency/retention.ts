// How long an idempotency key is kept after its final response. An operation can have a retention of its
// own.

/** The settings of it. */
export interface KeyRetention {
  readonly KEY_RETENTION_SECONDS: number
  /** Of the operations that have one of their own, by name. */
  readonly KEY_RETENTION_SECONDS_BY_OPERATION?: Readonly<Record<string, number>> | undefined
}

export function retentionOf(settings: KeyRetention, operation: string): number {
  return settings.KEY_RETENTION_SECONDS_BY_OPERATION?.[operation] ?? settings.KEY_RETENTION_SECONDS
}

/** The longest retention that an operation has. */
export function longestRetention(settings: KeyRetention): number {
  const own = Object.values(settings.KEY_RETENTION_SECONDS_BY_OPERATION ?? {})
  return Math.max(settings.KEY_RETENTION_SECONDS, ...own)
}
