// Keeps the requests that execute later, by the stand-in's clock: Stripe can execute a request whose
// client has left, and complete the work of a 500. They are kept in memory, as keys in flight are, so
// that a killed process leaves none behind.

interface LateRequest {
  /** In milliseconds since 1970. */
  readonly atMs: number
  readonly execute: (nowMs: number) => void
  /** Called before it is executed, or when it never will be. */
  readonly end?: () => void
}

export interface LateRequests {
  /** Executes the request when the clock reaches its time. */
  plan(request: LateRequest): void
  executeDue(nowMs: number): void
  executeAll(nowMs: number): void
  drop(): void
}

export function createLateRequests(): LateRequests {
  let planned: LateRequest[] = []
  const executeUntil = (untilMs: number, nowMs: number) => {
    const due = planned.filter(({ atMs }) => atMs <= untilMs)
    planned = planned.filter(({ atMs }) => atMs > untilMs)
    for (const { end, execute } of due.toSorted((one, other) => one.atMs - other.atMs)) {
      end?.()
      execute(nowMs)
    }
  }
  return {
    plan: (request) => void planned.push(request),
    executeDue: (nowMs) => executeUntil(nowMs, nowMs),
    executeAll: (nowMs) => executeUntil(Number.POSITIVE_INFINITY, nowMs),
    drop: () => {
      for (const { end } of planned) end?.()
      planned = []
    },
  }
}
