// One connection between a process under test and PostgreSQL. It knows which statement each message
// belongs to, by the prepared texts and by the order of the answers.
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
  /** Called with the SQLSTATE of each error from PostgreSQL itself. */
  readonly heard: (sqlState: string) => void
}

/** A message of the process that PostgreSQL has not answered yet. */
interface Asked {
  readonly message: string
  /** The name of its statement; undefined when it belongs to no operation. */
  readonly name: string | undefined
  rows: number
}

/** The answers that complete each message. */
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
  /** What PostgreSQL has not answered yet, oldest first. */
  #asked: Asked[] = []
  #current: string | undefined
  #state: 'open' | 'refusing' | 'deaf' | 'stalled' | 'over' = 'open'
  #backendPid = 0
  #application = ''
  #isListening = false
  #endsWhenIdle = false
  #transaction = 'I'
  /** Whether the open transaction contains a statement of an operation. */
  #isOfOperation = false
  /** Messages that arrived while the link waits, to be passed on when it goes on. */
  #kept: (() => void)[] | undefined
  /**
   * A refusal that waits for earlier answers, with the refused message and all that followed it.
   */
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
      // What the process sent before it died still arrives.
      this.#server.end()
      this.#close()
    })
    this.#server.on('close', () => {
      // The last messages of the server must still reach the process.
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

  /** Ends the connection as soon as nothing is in progress on it. */
  endWhenIdle(): void {
    this.#endsWhenIdle = true
    if (this.#isIdle) this.#endInOrder()
  }

  /** The process closes its side, too, so it has noticed the end by then. */
  #endInOrder(): void {
    this.#client.end()
    this.#server.end()
    this.#close()
  }

  /** Whether statements are prepared on it and the process opens another one when it ends. */
  get isOfPool(): boolean {
    return !this.#isListening && !NOT_OF_POOL.test(this.#application)
  }

  /** Ends the connection; what the process has sent still arrives. */
  end(): void {
    this.#client.destroy()
    this.#server.end()
    this.#close()
  }

  /** The process must be alive: a socket that has ended cannot be reset. */
  #reset(): void {
    this.#client.resetAndDestroy()
    this.#server.end()
    this.#close()
  }

  #close(): void {
    this.#state = 'over'
  }

  #relay(frames: readonly Frame[], to: Socket, pass: (frame: Frame) => void): void {
    // Messages that arrive together are sent together, unless a fault may come between them.
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

  /** Holds back both directions until it is known how to go on. */
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

  /**
   * Whether earlier statements are unanswered. PostgreSQL answers in order, so a refusal must wait.
   */
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

  /** Records an answer and returns its place, when it belongs to a statement of an operation. */
  #placeAnswered(message: string, frame: Frame): Place | undefined {
    const [asked] = this.#asked
    if (message === 'ReadyForQuery') this.#readTransaction(frame)
    if (asked === undefined) return undefined
    if (message === 'DataRow') asked.rows += 1
    if (message === 'ErrorResponse') this.#skipToSync()
    else if (ENDINGS[asked.message]?.includes(message) === true) this.#asked.shift()
    const { name } = asked
    // A fetch that finds nothing is an ordinary poll.
    if (name === undefined || (name.startsWith('fetch-') && asked.rows === 0)) return undefined
    return { role: this.#role, name, message, moment: 'before', of: 'store', way: 'in' }
  }

  #readTransaction(frame: Frame): void {
    this.#transaction = String.fromCharCode(frame.bytes[5] ?? 0)
    if (this.#transaction === 'I') this.#isOfOperation = false
  }

  /** After an error PostgreSQL ignores all messages up to the next Sync. */
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
        throw new Error(`a message to the store cannot be answered with "${verdict.do}"`)
    }
  }

  #goOnRefusing(frame: Frame): void {
    const message = nameOf('frontend', frame)
    if (message !== 'Sync' && message !== 'Query') return
    this.#state = 'open'
    this.#client.write(readyForQuery(this.#transaction === IN_TRANSACTION ? 'E' : 'I'))
  }
}
