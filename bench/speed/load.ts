// A closed load: so many clients, each of whom sends its next request when it has its answer. autocannon
// sends, because every request that the load itself computes on is taken from the service's two cores.
import autocannon from 'autocannon'

export interface Load {
  readonly url: string
  readonly concurrency: number
  readonly seconds: number
  /** The status of every answer; any below 300 will do where answers of several kinds are mixed. */
  readonly expected: number | 'any'
  /** Makes the next request; the same one may be made twice. */
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
  /** Answers of another status than the expected one, and requests without an answer. */
  readonly unexpected: number
  /** Those of them whose status is no 2xx. */
  readonly non2xx: number
}

/** No answer takes that long: waiting ends after 20 seconds. */
const TIMEOUT_SECONDS = 30

/** Sends until the time is up. Requests under way are then not counted. */
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
