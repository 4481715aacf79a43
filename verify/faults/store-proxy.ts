// A proxy between one process under test and PostgreSQL. It splits the stream into messages and calls the
// watch before and after each message of an operation's statement: a connection knows by the prepared texts
// and by the order of the answers which statement a message belongs to.
import type { Socket } from 'node:net'
import { Link, Links } from './links.ts'
import type { Frame } from './frames.ts'
import {
  errorResponse,
  flush,
  FrameReader,
  nameOf,
  query,
  readTexts,
  readyForQuery,
  sqlStateOf,
} from './frames.ts'
import { ADD_JOBS, COMMIT, commitOf, type Place, type Role } from './points.ts'
import { type Action, PASS, type Watch } from './watch.ts'

export type StoreProxy = Awaited<ReturnType<typeof openStoreProxy>>

/** @param serverPort the port of PostgreSQL on this machine. */
export async function openStoreProxy(role: Role, serverPort: number, watch: Watch) {
  const absences: { readonly from: number; readonly to: number }[] = []
  const sqlErrors: string[] = []
  let isShut = false
  const isAway = () => performance.now() < (absences.at(-1)?.to ?? 0)
  const onError = (sqlState: string) => void sqlErrors.push(sqlState)
  const links = await Links.open((client) =>
    isShut || isAway() ? undefined : new StoreLink({ role, client, serverPort, watch, onError }),
  )
  return {
    port: links.port,
    /** When the store was unreachable, by the clock of `performance`. */
    absences,
    /** The SQLSTATEs of all errors from PostgreSQL itself so far. */
    sqlErrors,
    /** Ends every connection, and each new one for a while. */
    disconnect(forMs: number): void {
      const from = performance.now()
      absences.push({ from, to: from + forMs })
      links.end()
    },
    /** Ends every connection, and each new one until `reopen`. */
    shut(): void {
      isShut = true
      links.end()
    },
    reopen(): void {
      isShut = false
    },
    /**
     * Ends the connections with prepared statements, each as soon as it is idle. The next operation
     * prepares its statements again and reaches the same points each time.
     */
    async dropPrepared(): Promise<void> {
      const pool = [...links.all].filter(({ isPooled }) => isPooled)
      const over = pool.map((link) => new Promise<void>((resolve) => link.onClose(resolve)))
      for (const link of pool) link.endWhenIdle()
      await Promise.all(over)
    },
    dropStalled: () => links.dropStalled(),
    close: () => links.close(),
  }
}

interface LinkOptions {
  readonly role: Role
  readonly client: Socket
  readonly serverPort: number
  readonly watch: Watch
  /** Called with the SQLSTATE of each error from PostgreSQL itself. */
  readonly onError: (sqlState: string) => void
}

/** A message of the process that PostgreSQL has not answered yet. */
interface PendingMessage {
  readonly message: string
  /** The name of its statement; undefined when it belongs to no operation. */
  readonly name: string | undefined
  /** Whether its statement is behind the first one of a transaction. */
  readonly isBehind: boolean
  /** Whether its statement ends a transaction. */
  readonly isEnding: boolean
  rows: number
}

/** A transaction that the process has begun. */
interface OpenTransaction {
  isOfOperation: boolean
  /** The name of its first statement of an operation, behind the one that names the tenant. */
  first: string | undefined
}

/** The answers that complete each message. */
const COMPLETING_ANSWERS: Readonly<Record<string, readonly string[]>> = {
  Parse: ['ParseComplete'],
  Bind: ['BindComplete'],
  Describe: ['RowDescription', 'NoData'],
  Execute: ['CommandComplete', 'EmptyQueryResponse', 'PortalSuspended'],
  Close: ['CloseComplete'],
  Sync: ['ReadyForQuery'],
  Query: ['ReadyForQuery'],
}

const UNPOOLED = /worker jobs/
const LISTENING = /^\s*listen\b/i
const BEGINNING = /^\s*begin\b/i
const ENDING = /^\s*(commit|rollback)\b/i
/** A transaction in one message, as pg-boss sends it. */
const WHOLE = /^\s*begin\b.*\bcommit\b/is
const IN_TRANSACTION = 'T'
const FAILED = 'E'
const IDLE = 'I'
const BACKEND_KEY = 'K'

const NO_STATEMENT = { name: undefined, isBehind: false, isEnding: false }

class StoreLink extends Link {
  readonly #options: LinkOptions
  readonly #texts = new Map<string, string>()
  /** What PostgreSQL has not answered yet, oldest first. */
  #pending: PendingMessage[] = []
  /** The statement whose messages the process sends now. */
  #current: Pick<PendingMessage, 'name' | 'isBehind' | 'isEnding'> = NO_STATEMENT
  #open: OpenTransaction | undefined
  #backendPid = 0
  #application = ''
  #isListening = false
  #endsWhenIdle = false
  #transaction = IDLE
  /**
   * A refusal that waits for earlier answers, with the refused message and all that followed it.
   */
  #refusal: { readonly action: Action; readonly frames: Frame[] } | undefined
  /** The answers to what the link itself has sent are not passed on. */
  #isDiscarding = false
  /** The state of the transaction that the process gets with a refusal. */
  #refusedState: 'E' | 'I' = IDLE

  constructor(options: LinkOptions) {
    super(options.client, options.serverPort)
    this.#options = options
    const { client, server } = this
    const [frontend, backend] = [new FrameReader('frontend'), new FrameReader('backend')]
    client.on('data', (chunk) => this.#relay(frontend.read(chunk), server, this.#fromProcess))
    server.on('data', (chunk) => this.#relay(backend.read(chunk), client, this.#fromStore))
    client.on('close', () => {
      // What the process sent before it died still arrives.
      server.end()
      this.state = 'over'
    })
    server.on('close', () => {
      // The last messages of the server must still reach the process.
      if (this.state !== 'stalled' && this.state !== 'over') client.destroy()
    })
  }

  get #isIdle(): boolean {
    return this.#pending.length === 0 && this.#transaction === IDLE
  }

  /** Ends the connection as soon as nothing is in progress on it. */
  endWhenIdle(): void {
    this.#endsWhenIdle = true
    if (this.#isIdle) this.#endInOrder()
  }

  /** The process closes its side, too, so it has noticed the end by then. */
  #endInOrder(): void {
    this.client.end()
    this.server.end()
    this.state = 'over'
  }

  /** Whether statements are prepared on it and the process opens another one when it ends. */
  get isPooled(): boolean {
    return !this.#isListening && !UNPOOLED.test(this.#application)
  }

  #relay(frames: readonly Frame[], to: Socket, pass: (frame: Frame) => void): void {
    // Messages that arrive together are sent together, unless a fault may come between them.
    const isTogether = !this.#options.watch.isCounting
    if (isTogether) to.cork()
    for (const frame of frames) this.passOrBuffer(() => pass(frame))
    if (isTogether) to.uncork()
  }

  readonly #fromProcess = (frame: Frame): void => {
    if (this.state === 'deaf') return
    if (this.#refusal !== undefined) {
      this.#refusal.frames.push(frame)
      return
    }
    if (this.state === 'refusing') {
      this.#continueRefusing(frame)
      return
    }
    const message = nameOf('frontend', frame)
    const name = this.#nameRequest(message, frame)
    if (name === undefined || message === undefined) {
      this.#trackMessage(message)
      this.server.write(frame.bytes)
      return
    }
    const place = {
      role: this.#options.role,
      name,
      message,
      peer: 'store',
      direction: 'out',
    } as const
    const send = () => {
      this.#trackMessage(message)
      this.server.write(frame.bytes)
      this.#apply(this.#reached({ ...place, moment: 'after' }), frame)
    }
    const action = this.#reached({ ...place, moment: 'before' })
    if (action.do === 'wait') void this.wait(action, send)
    else if (action.do === 'refuse' && this.#pending.length > 0) {
      // PostgreSQL answers in order, so a refusal must wait.
      this.server.write(flush())
      this.#refusal = { action, frames: [frame] }
    } else if (this.#apply(action, frame)) send()
  }

  /**
   * Within a transaction it only matters which of its statements are sent, and which are answered. So the
   * other messages of a statement behind the first one are no points.
   */
  #reached(place: Place, { isBehind } = this.#current): Action {
    return isBehind && !isStep(place) ? PASS : this.#options.watch.reached(place)
  }

  readonly #fromStore = (frame: Frame): void => {
    if (frame.type === BACKEND_KEY) this.#backendPid = frame.bytes.readInt32BE(5)
    const message = nameOf('backend', frame)
    if (this.#isDiscarding) {
      if (message === 'ReadyForQuery') this.#endDiscarding(frame)
      return
    }
    if (message === 'ErrorResponse') this.#options.onError(sqlStateOf(frame))
    const [pending] = this.#pending
    const place = message === undefined ? undefined : this.#placeAnswer(message, frame)
    const action = place === undefined ? PASS : this.#reached(place, pending)
    const isPassed = this.#apply(action, frame) || action.do === 'terminate'
    if (isPassed) this.client.write(frame.bytes)
    if (this.#pending.length === 0) this.#refuseIfDue()
    if (this.#endsWhenIdle && message === 'ReadyForQuery' && this.#isIdle) this.#endInOrder()
  }

  #refuseIfDue(): void {
    if (this.#refusal === undefined) return
    const { action, frames } = this.#refusal
    const [refused, ...others] = frames
    this.#refusal = undefined
    if (refused !== undefined) this.#apply(action, refused)
    for (const frame of others) this.passOrBuffer(() => this.#fromProcess(frame))
  }

  #nameRequest(message: string | undefined, frame: Frame): string | undefined {
    if (frame.type === '') this.#readStartup(frame)
    if (message === 'Parse') {
      const [name = '', text = ''] = readTexts(frame, 2)
      this.#texts.set(name, text)
      this.#begin(text)
    }
    if (message === 'Bind') this.#begin(this.#texts.get(readTexts(frame, 2)[1] ?? '') ?? '')
    if (message === 'Query') this.#begin(readTexts(frame, 1)[0] ?? '')
    return this.#current.name
  }

  #readStartup(frame: Frame): void {
    const texts = frame.bytes.subarray(8).toString('utf8').split('\0')
    const at = texts.indexOf('application_name')
    if (at >= 0) this.#application = texts[at + 1] ?? ''
  }

  #begin(text: string): void {
    const known = this.#options.watch.statements.nameOf(text)
    if (LISTENING.test(text)) this.#isListening = true
    if (BEGINNING.test(text))
      this.#open = WHOLE.test(text) ? undefined : { isOfOperation: false, first: undefined }
    const open = this.#open
    const isOfAny = known === COMMIT || known === ADD_JOBS
    if (open !== undefined && known !== undefined && !isOfAny) open.isOfOperation = true
    const isNamed = known !== undefined && (!isOfAny || open?.isOfOperation === true)
    if (open !== undefined && isNamed && known !== COMMIT) open.first ??= known
    const name = known === COMMIT ? commitOf(open?.first) : known
    this.#current = {
      name: isNamed ? name : undefined,
      isBehind: open !== undefined && name !== open.first,
      isEnding: ENDING.test(text),
    }
  }

  #trackMessage(message: string | undefined): void {
    if (message !== undefined && message in COMPLETING_ANSWERS)
      this.#pending.push({ ...this.#current, message, rows: 0 })
  }

  /** Records an answer and returns its place, when it belongs to a statement of an operation. */
  #placeAnswer(message: string, frame: Frame): Place | undefined {
    const [pending] = this.#pending
    if (message === 'ReadyForQuery') this.#transaction = stateIn(frame)
    if (pending === undefined) return undefined
    if (message === 'ReadyForQuery' && pending.isEnding) this.#open = undefined
    if (message === 'DataRow') pending.rows += 1
    if (message === 'ErrorResponse') this.#skipToSync()
    else if (COMPLETING_ANSWERS[pending.message]?.includes(message) === true) this.#pending.shift()
    const { name } = pending
    // A fetch that finds nothing is an ordinary poll.
    if (name === undefined || (name.startsWith('fetch-') && pending.rows === 0)) return undefined
    return {
      role: this.#options.role,
      name,
      message,
      moment: 'before',
      peer: 'store',
      direction: 'in',
    }
  }

  /** After an error PostgreSQL ignores all messages up to the next Sync. */
  #skipToSync(): void {
    const sync = this.#pending.findIndex(({ message }) => message === 'Sync' || message === 'Query')
    this.#pending = sync < 0 ? [] : this.#pending.slice(sync)
  }

  /** Returns whether the message is passed on. */
  #apply(action: Action, frame: Frame): boolean {
    if (action.do === 'terminate') {
      this.state = 'deaf'
      action.by(this.#backendPid)
    } else if (action.do === 'refuse') {
      this.client.write(errorResponse(action.severity, action.sqlState))
      if (action.severity === 'FATAL') {
        this.#endInOrder()
      } else {
        this.#failAtServer()
        this.state = 'refusing'
        this.#continueRefusing(frame)
      }
    } else return this.follow(action)
    return false
  }

  /**
   * Makes the server do what it would have done with an error of its own: its transaction has failed, or
   * at a commit it has ended. Otherwise it would execute what the process sends next.
   */
  #failAtServer(): void {
    const { isEnding } = this.#current
    this.#refusedState = this.#transaction === IN_TRANSACTION && !isEnding ? FAILED : IDLE
    this.server.write(query(isEnding ? 'rollback' : 'refused by the fault suite'))
    this.#isDiscarding = true
    if (isEnding) this.#open = undefined
  }

  #endDiscarding(frame: Frame): void {
    this.#transaction = stateIn(frame)
    this.#isDiscarding = false
  }

  #continueRefusing(frame: Frame): void {
    const message = nameOf('frontend', frame)
    if (message !== 'Sync' && message !== 'Query') return
    this.state = 'open'
    this.client.write(readyForQuery(this.#refusedState))
  }
}

/** The state of the transaction, from a ReadyForQuery. */
const stateIn = ({ bytes }: Frame): string => String.fromCharCode(bytes[5] ?? 0)

/** Whether a statement is sent next, is sent, or is answered. */
function isStep({ message, moment }: Place): boolean {
  if (message === 'ReadyForQuery' || message === 'Query') return true
  return moment === 'before' ? message === 'Execute' : message === 'Sync'
}
