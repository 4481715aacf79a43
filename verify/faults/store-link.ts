// One connection of a process under test to PostgreSQL. It knows which statement each message belongs to, by
// the texts that were prepared, and by the order of the answers.
import { connect, type Socket } from 'node:net'
import {
  errorResponse,
  FrameReader,
  nameOf,
  readTexts,
  readyForQuery,
  sqlStateOf,
  type Frame,
} from './frames.ts'
import type { Place, Role } from './points.ts'
import { PASS, type Verdict, type Watch } from './watch.ts'

interface LinkOptions {
  readonly role: Role
  readonly client: Socket
  readonly serverPort: number
  readonly watch: Watch
  /** Told of each error that PostgreSQL itself has answered, by its SQLSTATE. */
  readonly heard: (sqlState: string) => void
}

/** A message of the process that PostgreSQL has still to answer. */
interface Asked {
  readonly message: string
  /** Of the statement that it belongs to, when that is one of an operation. */
  readonly name: string | undefined
  rows: number
}

/** The answers by which a message is done with. */
const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  Parse: ['ParseComplete'],
  Bind: ['BindComplete'],
  Describe: ['RowDescription', 'NoData'],
  Execute: ['CommandComplete', 'EmptyQueryResponse', 'PortalSuspended'],
  Close: ['CloseComplete'],
  Sync: ['ReadyForQuery'],
  Query: ['ReadyForQuery'],
}

const NOT_OF_POOL = /worker jobs/
const LISTENING = /^\s*listen\b/i
const IN_TRANSACTION = 'T'
const BACKEND_KEY = 'K'

export class StoreLink {
  readonly #role: Role
  readonly #client: Socket
  readonly #server: Socket
  readonly #watch: Watch
  readonly #heard: (sqlState: string) => void
  readonly #texts = new Map<string, string>()
  /** What PostgreSQL has still to answer, the oldest first. */
  #asked: Asked[] = []
  #current: string | undefined
  #state: 'open' | 'refusing' | 'deaf' | 'stalled' | 'over' = 'open'
  #backendPid = 0
  #application = ''
  #isListening = false
  #endsWhenIdle = false
  #transaction = 'I'
  /** Whether the open transaction holds a statement of an operation. */
  #isOfOperation = false
  /** What came while the link waits, to be passed on when it goes on. */
  #kept: (() => void)[] | undefined
  /** What the process has sent since a refusal that waits for the answers before it; what was refused comes first. */
  #refused: { readonly verdict: Verdict; readonly frames: Frame[] } | undefined

  constructor({ role, client, serverPort, watch, heard }: LinkOptions) {
    this.#role = role
    this.#client = client
    this.#watch = watch
    this.#heard = heard
    this.#server = connect(serverPort, '127.0.0.1')
    const [frontend, backend] = [new FrameReader('frontend'), new FrameReader('backend')]
    for (const socket of [client, this.#server]) socket.setNoDelay().on('error', () => {})
    client.on('data', (chunk) => this.#relay(frontend.read(chunk), this.#server, this.#fromProcess))
    this.#server.on('data', (chunk) =>
      this.#relay(backend.read(chunk), this.#client, this.#fromStore),
    )
    client.on('close', () => {
      // What the process has sent before it died arrives.
      this.#server.end()
      this.#close()
    })
    this.#server.on('close', () => {
      // What it was told last must still reach the process.
      if (this.#state !== 'stalled' && this.#state !== 'over') this.#client.destroy()
    })
  }

  whenOver(done: () => void): void {
    this.#client.once('close', done)
  }

  get isStalled(): boolean {
    return this.#state === 'stalled'
  }

  get #isIdle(): boolean {
    return this.#asked.length === 0 && this.#transaction === 'I'
  }

  /** Ends the connection as soon as nothing is under way on it. */
  endWhenIdle(): void {
    this.#endsWhenIdle = true
    if (this.#isIdle) this.#endInOrder()
  }

  /** The process closes its side, too, and has noticed by then. */
  #endInOrder(): void {
    this.#client.end()
    this.#server.end()
    this.#close()
  }

  /** Whether it is one of those that statements are prepared on, and that are made again when needed. */
  get isOfPool(): boolean {
    return !this.#isListening && !NOT_OF_POOL.test(this.#application)
  }

  /** Ends in order; what the process has sent still arrives. */
  end(): void {
    this.#client.destroy()
    this.#server.end()
    this.#close()
  }

  /** The process must live: what has ended by itself cannot be reset. */
  #reset(): void {
    this.#client.resetAndDestroy()
    this.#server.end()
    this.#close()
  }

  #close(): void {
    this.#state = 'over'
  }

  #relay(frames: readonly Frame[], to: Socket, pass: (frame: Frame) => void): void {
    // What comes together goes on together, unless something may be done between two messages.
    const isTogether = !this.#watch.isCounting
    if (isTogether) to.cork()
    for (const frame of frames) this.#passOrKeep(() => pass(frame))
    if (isTogether) to.uncork()
  }

  #passOrKeep(pass: () => void): void {
    if (this.#state === 'stalled' || this.#state === 'over') return
    if (this.#kept === undefined) pass()
    else this.#kept.push(pass)
  }

  /** Neither side hears of the other until it is known how to go on. */
  async #wait(until: Promise<'pass' | 'end'>, pass: () => void): Promise<void> {
    this.#kept = []
    const how = await until.catch(() => 'end')
    const kept = [pass, ...this.#kept]
    this.#kept = undefined
    if (how === 'end') this.end()
    else for (const next of kept) this.#passOrKeep(next)
  }

  readonly #fromProcess = (frame: Frame): void => {
    if (this.#state === 'deaf') return
    if (this.#refused !== undefined) {
      this.#refused.frames.push(frame)
      return
    }
    if (this.#state === 'refusing') {
      this.#goOnRefusing(frame)
      return
    }
    const message = nameOf('frontend', frame)
    const name = this.#nameAsked(message, frame)
    if (name === undefined || message === undefined) {
      this.#ask(message, name)
      this.#server.write(frame.bytes)
      return
    }
    const place = { role: this.#role, name, message, of: 'store', way: 'out' } as const
    const send = () => {
      this.#ask(message, name)
      this.#server.write(frame.bytes)
      this.#carryOut(this.#watch.reached({ ...place, moment: 'after' }), frame)
    }
    const verdict = this.#watch.reached({ ...place, moment: 'before' })
    if (verdict.do === 'wait') void this.#wait(verdict.until, send)
    else if (verdict.do === 'refuse' && this.#owesAnswers)
      this.#refused = { verdict, frames: [frame] }
    else if (this.#carryOut(verdict, frame) === 'pass') send()
  }

  readonly #fromStore = (frame: Frame): void => {
    if (frame.type === BACKEND_KEY) this.#backendPid = frame.bytes.readInt32BE(5)
    const message = nameOf('backend', frame)
    if (message === 'ErrorResponse') this.#heard(sqlStateOf(frame))
    const place = message === undefined ? undefined : this.#placeAnswered(message, frame)
    const verdict = place === undefined ? PASS : this.#watch.reached(place)
    const isPassed = this.#carryOut(verdict, frame) === 'pass' || verdict.do === 'terminate'
    if (isPassed) this.#client.write(frame.bytes)
    if (!this.#owesAnswers) this.#refuseNow()
    if (this.#endsWhenIdle && message === 'ReadyForQuery' && this.#isIdle) this.#endInOrder()
  }

  /** Whether statements before this one have no answer yet: PostgreSQL answers in order. */
  get #owesAnswers(): boolean {
    return this.#asked.some(({ message }) => message === 'Sync' || message === 'Query')
  }

  #refuseNow(): void {
    if (this.#refused === undefined) return
    const { verdict, frames } = this.#refused
    const [refused, ...others] = frames
    this.#refused = undefined
    if (refused !== undefined) this.#carryOut(verdict, refused)
    for (const frame of others) this.#passOrKeep(() => this.#fromProcess(frame))
  }

  #nameAsked(message: string | undefined, frame: Frame): string | undefined {
    if (frame.type === '') this.#readOpening(frame)
    if (message === 'Parse') {
      const [name = '', text = ''] = readTexts(frame, 2)
      this.#texts.set(name, text)
      this.#begin(text)
    }
    if (message === 'Bind') this.#begin(this.#texts.get(readTexts(frame, 2)[1] ?? '') ?? '')
    if (message === 'Query') this.#begin(readTexts(frame, 1)[0] ?? '')
    return this.#current
  }

  #readOpening(frame: Frame): void {
    const texts = frame.bytes.subarray(8).toString('utf8').split('\0')
    const at = texts.indexOf('application_name')
    if (at >= 0) this.#application = texts[at + 1] ?? ''
  }

  #begin(text: string): void {
    const name = this.#watch.statements.nameOf(text)
    if (LISTENING.test(text)) this.#isListening = true
    const isCommit = name === 'commit'
    if (name !== undefined && !isCommit) this.#isOfOperation = true
    this.#current = isCommit && !this.#isOfOperation ? undefined : name
  }

  #ask(message: string | undefined, name: string | undefined): void {
    if (message !== undefined && message in ENDINGS) this.#asked.push({ message, name, rows: 0 })
  }

  /** Takes note of an answer; its place, when it answers a statement of an operation. */
  #placeAnswered(message: string, frame: Frame): Place | undefined {
    const [asked] = this.#asked
    if (message === 'ReadyForQuery') this.#readTransaction(frame)
    if (asked === undefined) return undefined
    if (message === 'DataRow') asked.rows += 1
    if (message === 'ErrorResponse') this.#skipToSync()
    else if (ENDINGS[asked.message]?.includes(message) === true) this.#asked.shift()
    const { name } = asked
    // A fetch that finds nothing is a poll like any other.
    if (name === undefined || (name.startsWith('fetch-') && asked.rows === 0)) return undefined
    return { role: this.#role, name, message, moment: 'before', of: 'store', way: 'in' }
  }

  #readTransaction(frame: Frame): void {
    this.#transaction = String.fromCharCode(frame.bytes[5] ?? 0)
    if (this.#transaction === 'I') this.#isOfOperation = false
  }

  /** After an error PostgreSQL leaves everything unanswered until it has seen the Sync. */
  #skipToSync(): void {
    const sync = this.#asked.findIndex(({ message }) => message === 'Sync' || message === 'Query')
    this.#asked = sync < 0 ? [] : this.#asked.slice(sync)
  }

  #carryOut(verdict: Verdict, frame: Frame): 'pass' | 'cut' {
    switch (verdict.do) {
      case 'pass':
        return 'pass'
      case 'reset':
        this.#reset()
        return 'cut'
      case 'end':
        this.end()
        return 'cut'
      case 'stall':
        this.#state = 'stalled'
        return 'cut'
      case 'terminate':
        this.#state = 'deaf'
        verdict.by(this.#backendPid)
        return 'cut'
      case 'refuse':
        this.#client.write(errorResponse(verdict.severity, verdict.sqlState))
        if (verdict.severity === 'FATAL') {
          this.#endInOrder()
        } else {
          this.#state = 'refusing'
          this.#goOnRefusing(frame)
        }
        return 'cut'
      case 'wait':
      case 'hold':
      case 'misbehave':
        throw new Error(`the store does not ${verdict.do} here`)
    }
  }

  #goOnRefusing(frame: Frame): void {
    const message = nameOf('frontend', frame)
    if (message !== 'Sync' && message !== 'Query') return
    this.#state = 'open'
    this.#client.write(readyForQuery(this.#transaction === IN_TRANSACTION ? 'E' : 'I'))
  }
}
