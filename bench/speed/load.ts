// Runs a closed load: each client sends its next request when it has an answer. autocannon sends
// the requests, because it leaves most of the two cores to the service.
import autocannon from 'autocannon'

export interface Load {
  readonly url: string
  readonly concurrency: number
  readonly seconds: number
  /** The expected status. `any` accepts every 2xx, for loads that mix several kinds of requests. */
  readonly expected: number | 'any'
  /** Returns the next request. It may return the same request twice. */
  readonly next: () => LoadRequest
  readonly signal: AbortSignal
}

export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answers {
  readonly timesMs: readonly number[]
  readonly seconds: number
  /** Answers with an unexpected status, and requests without an answer. */
  readonly unexpected: number
  /** Answers with a status other than 2xx, and requests without an answer. */
  readonly non2xx: number
  /** Only for requests with the same key at once. */
  readonly hotKey?: HotKey
}

/** How the requests with the same key affect each other. */
export interface HotKey {
  /** The median of the owner's time, in milliseconds. */
  readonly ownerMs: number
  /** The median of a request alone: one before each group of requests with the same key. */
  readonly aloneMs: number
  /** Database sessions that wait for a lock while the requests run: the mean and the maximum. */
  readonly lockWaits: number
  readonly lockWaitsMost: number
}

/** Longer than any answer takes: the API stops waiting for a result after 20 seconds. */
const TIMEOUT_SECONDS = 30

/** Sends until the time is up. Requests without an answer at that moment are not counted. */
export function runLoad(load: Load): Promise<Answers> {
  const { concurrency, expected } = load
  const timesMs: number[] = []
  const wrong = { unexpected: 0, non2xx: 0 }
  return new Promise((resolve, reject) => {
    const instance = autocannon(
      {
        url: load.url,
        connections: concurrency,
        duration: load.seconds,
        timeout: TIMEOUT_SECONDS,
        requests: [{ setupRequest: (request) => ({ ...request, ...load.next() }) }],
      },
      (error, result) => {
        if (error) return reject(error)
        if (load.signal.aborted) return reject(load.signal.reason as Error)
        const { unexpected, non2xx } = wrong
        const { errors, duration: seconds } = result
        resolve({ timesMs, seconds, unexpected: unexpected + errors, non2xx: non2xx + errors })
      },
    )
    instance.on('response', (_client, status, _bytes, responseMs) => {
      timesMs.push(responseMs)
      const succeeded = status >= 200 && status < 300
      if (expected === 'any' ? !succeeded : status !== expected) wrong.unexpected += 1
      if (!succeeded) wrong.non2xx += 1
    })
    load.signal.addEventListener('abort', () => instance.stop(), { once: true })
  })
}
