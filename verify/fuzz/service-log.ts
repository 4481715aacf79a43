// Listens to what the processes write: whether the provider was called, and whether anything is written that
// must not be. The lines themselves are not kept.
import { EventEmitter, once } from 'node:events'
import type { Secrets } from './secrets.ts'

export type Role = 'provider' | 'worker' | 'api'

/** Pino's number of the level `error`. */
const ERROR = 50

const REMEMBERED_LINES = 40

/** So many are told; the rest will be of the same kind. */
const COMPLAINTS_MAX = 20

interface Line {
  readonly level?: number
  readonly msg?: string
  readonly method?: string
  readonly path?: string
  readonly port?: number
  readonly unlisted?: readonly string[]
}

export class ServiceLog {
  /** What was written that must not be. */
  readonly complaints: string[] = []
  readonly #last: string[] = []
  #secrets: Secrets | undefined
  #lines = 0
  #providerCalls = 0
  readonly #ports = new Map<Role, number>()
  readonly #listening = new EventEmitter()

  get lines(): number {
    return this.#lines
  }

  /** Requests to the provider's API, those of whoever looks at the provider aside. */
  get providerCalls(): number {
    return this.#providerCalls
  }

  /** What was written last, for whoever has to find out why a process has failed. */
  get lastWords(): string {
    return this.#last.join('\n')
  }

  /** Where a process listens, once it has said so. */
  async portOf(role: Role): Promise<number> {
    const port = this.#ports.get(role)
    if (port !== undefined) return port
    const [told] = (await once(this.#listening, role)) as [number]
    return told
  }

  /** From now on these are looked for. */
  watchFor(secrets: Secrets): void {
    this.#secrets = secrets
  }

  readonly take = (role: Role, text: string): void => {
    this.#lines += 1
    this.#last.push(`${role}: ${text}`)
    if (this.#last.length > REMEMBERED_LINES) this.#last.shift()
    for (const secret of this.#secrets?.findIn(text) ?? []) {
      this.#complain(`${role} writes ${secret}`)
    }
    const line = parseLine(text)
    if (line === undefined) return
    if (line.port !== undefined && !this.#ports.has(role)) {
      this.#ports.set(role, line.port)
      this.#listening.emit(role, line.port)
    }
    if (role === 'provider') {
      const { msg, path = '' } = line
      if (msg === 'request' && !path.startsWith('/_control')) this.#providerCalls += 1
      return
    }
    if ((line.level ?? 0) >= ERROR) this.#complain(`${role} writes an error: ${text}`)
    if (line.unlisted !== undefined) {
      this.#complain(
        `${role} writes of fields that nobody has allowed: ${line.unlisted.join(', ')}`,
      )
    }
  }

  #complain(what: string): void {
    if (this.complaints.length < COMPLAINTS_MAX && !this.complaints.includes(what)) {
      this.complaints.push(what)
    }
  }
}

function parseLine(text: string): Line | undefined {
  try {
    return text.startsWith('{') ? (JSON.parse(text) as Line) : undefined
  } catch {
    // What Node itself writes is no JSON.
    return undefined
  }
}
