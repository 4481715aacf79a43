// Client of the control API of the Stripe stand-in: its log of executed calls and its faults. Calls
// are retried, because the fault `refuse` rejects every connection for a moment, including this
// client's.
import { setTimeout as wait } from 'node:timers/promises'

/** An entry of the provider's log. Amounts are in minor units. */
export interface Executed {
  readonly seq: number
  readonly kind: string
  /** Id of the provider's payment or refund. */
  readonly id: string
  readonly amount: number
  readonly currency: string
  readonly metadata: Readonly<Record<string, string>>
  /** The provider, if it is not the first one. */
  readonly provider?: string
}

export interface FaultRule {
  readonly match: {
    readonly method?: 'GET' | 'POST'
    readonly path?: string
    readonly payment_method?: string
  }
  readonly fault: string
  readonly times: number
  readonly delay_ms?: number
}

export interface PlantedRule extends FaultRule {
  /** Number of requests that the fault has hit. */
  readonly struck: number
}

export interface Provider {
  checkHealth(): Promise<void>
  /** Calls a path below `/_control/` and returns the body of the answer. */
  control(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<unknown>
  listExecuted(): Promise<Executed[]>
  plantFault(rule: FaultRule): Promise<void>
  listFaults(): Promise<PlantedRule[]>
  removeFaults(): Promise<void>
}

const TRIES = 20
const PAUSE_MS = 150
const TIME_LIMIT_MS = 30_000

export function providerAt(url: string): Provider {
  const control: Provider['control'] = async (method, path, body) => {
    const answer = await reach(url, () =>
      fetch(`${url}/_control/${path}`, {
        method,
        signal: AbortSignal.timeout(TIME_LIMIT_MS),
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    if (!answer.ok) throw new Error(`${url}/_control/${path} answered ${answer.status}`)
    return await answer.json()
  }
  const list = async <Entry>(path: string) =>
    ((await control('GET', path)) as { data: Entry[] }).data
  return {
    async checkHealth() {
      const { ok } = await fetch(`${url}/_control/health`)
      if (!ok) throw new Error(`${url} is not a Stripe stand-in`)
    },
    control,
    listExecuted: () => list('executed'),
    listFaults: () => list('faults'),
    plantFault: async (rule) => void (await control('POST', 'faults', rule)),
    removeFaults: async () => void (await control('DELETE', 'faults')),
  }
}

/** Retries requests that fail. @throws Error if the stand-in stays unreachable. */
async function reach(url: string, send: () => Promise<Response>): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send()
    } catch (cause) {
      if (tries === TRIES)
        throw new Error(`the Stripe stand-in at ${url} is unreachable`, { cause })
      await wait(PAUSE_MS)
    }
  }
}
