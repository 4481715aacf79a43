// The mock provider as the run speaks to it: its log of what was executed, which the invariants are checked
// by, and its faults. One of its faults refuses every connection for a moment, ours included.
import { setTimeout as wait } from 'node:timers/promises'

/** An entry of the provider's log; amounts in minor units. */
export interface Executed {
  readonly seq: number
  readonly kind: string
  /** Of the provider's payment or refund. */
  readonly id: string
  readonly amount: number
  readonly currency: string
  readonly metadata: Readonly<Record<string, string>>
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
  /** How many requests it has struck. */
  readonly struck: number
}

export interface Provider {
  checkHealth(): Promise<void>
  /** What it is told beside its API: a path below `/_control/`, and the body of the answer. */
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
    if (!answer.ok) throw new Error(`${url}/_control/${path} answers ${answer.status}`)
    return await answer.json()
  }
  const list = async <Entry>(path: string) =>
    ((await control('GET', path)) as { data: Entry[] }).data
  return {
    async checkHealth() {
      const { ok } = await fetch(`${url}/_control/health`)
      if (!ok) throw new Error(`${url} is no mock provider`)
    },
    control,
    listExecuted: () => list('executed'),
    listFaults: () => list('faults'),
    plantFault: async (rule) => void (await control('POST', 'faults', rule)),
    removeFaults: async () => void (await control('DELETE', 'faults')),
  }
}

/** Sends again what did not reach it. @throws Error when it has gone. */
async function reach(url: string, send: () => Promise<Response>): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send()
    } catch (cause) {
      if (tries === TRIES) throw new Error(`the mock provider at ${url} has gone`, { cause })
      await wait(PAUSE_MS)
    }
  }
}
