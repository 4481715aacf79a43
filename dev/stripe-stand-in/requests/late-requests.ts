// Keeps the requests that execute later, by the stand-in's clock: Stripe can execute a request whose
// client has left, and complete the work of a 500. They are kept in memory, as keys in flight are, so
// that a killed process leaves none behind.

interface LateRequest {
  /** In milliseconds since 1970. */
  readonly atMs: number
  readonly execute: (nowMs: number) => void
  /** Called before it is executed, or when it never will be. */
  readonly end: () => void
}

export type LateRequests = ReturnType<typeof createLateRequests>

export function createLateRequests() {
  let planned: LateRequest[] = []
  /** Executes, as of `nowMs`, what is due until then, or until another time. */
  const execute = (nowMs: number, untilMs = nowMs) => {
    const due = planned.filter(({ atMs }) => atMs <= untilMs)
    planned = planned.filter(({ atMs }) => atMs > untilMs)
    for (const request of due.toSorted((one, other) => one.atMs - other.atMs)) {
      request.end()
      request.execute(nowMs)
    }
  }
  return {
    /** Executes the request when the clock reaches its time. */
    plan: (request: LateRequest) => void planned.push(request),
    executeDue: (nowMs: number) => execute(nowMs),
    executeAll: (nowMs: number) => execute(nowMs, Number.POSITIVE_INFINITY),
    drop: () => {
      for (const { end } of planned) end()
      planned = []
    },
  }
}
