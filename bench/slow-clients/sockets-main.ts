// The process that holds the slow sockets, apart from the load whose answers are timed: a mixture of all ways to
// be slow, each socket opened again as soon as the service has closed it.
import { connect, type Socket } from 'node:net'

/** How many sockets to hold from now on; 0 closes them all. */
export interface SocketsCommand {
  readonly hold: number
}

/** Of the time since the sockets were all there, or since the last report. */
export interface SocketsReport {
  /** How many of them were connected, on average and at the worst of the moments that were looked at. */
  readonly heldMean: number
  readonly heldMin: number
  /** How many the service has closed, each of which was opened again. */
  readonly closed: number
}

/** What one of them sends at once, then a byte at a time, and whether it takes what it is answered. */
interface Way {
  readonly atOnce: string
  readonly dripped: string
  readonly reads: boolean
}

/** A byte a second for each, spread over the second: a thousand at once would be another kind of load. */
const DRIP_MS = 1_000
const TICK_MS = 10
const LOOK_MS = 100

/** Sockets that are opened at a time, so that the service's queue of connections does not run over. */
const OPENED_EACH_TICK = 20

const [target = '', apiKey = ''] = process.argv.slice(2)
const { hostname, port } = new URL(target)

const authorized = `host: ${hostname}\r\nauthorization: Bearer ${apiKey}\r\n`
const payment = `POST /v1/payments HTTP/1.1\r\n${authorized}idempotency-key: slow\r\n`

const ways: readonly Way[] = [
  // Headers that never end, and a body that takes longer than anybody waits.
  { atOnce: `${payment}x-slow: `, dripped: 'a', reads: true },
  {
    atOnce: `${payment}content-type: application/json\r\ncontent-length: 1000\r\n\r\n{`,
    dripped: ' ',
    reads: true,
  },
  // Gone without a word.
  { atOnce: '', dripped: '', reads: true },
  // An answer that is not taken. Who reads nothing learns of the end by an empty line that cannot be sent.
  {
    atOnce: `GET /v1/payments?limit=100 HTTP/1.1\r\n${authorized}\r\n`,
    dripped: '\r\n',
    reads: false,
  },
]

interface Slot {
  readonly way: Way
  socket: Socket | undefined
  isConnected: boolean
}

let slots: Slot[] = []
let waiting: Slot[] = []
let looks: number[] = []
let closed = 0
let whenHeld: (() => void) | undefined

setInterval(openSome, TICK_MS)
setInterval(drip, TICK_MS)
setInterval(look, LOOK_MS)
process.on('message', (command: SocketsCommand) => void obey(command))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

/** Answers with what has become of the sockets until now, when those that are wanted are there. */
async function obey({ hold }: SocketsCommand): Promise<void> {
  const sum = looks.reduce((all, held) => all + held, 0)
  const report: SocketsReport = {
    heldMean: looks.length === 0 ? 0 : Math.round(sum / looks.length),
    heldMin: looks.length === 0 ? 0 : Math.min(...looks),
    closed,
  }
  for (const { socket } of slots) socket?.destroy()
  slots = Array.from({ length: hold }, (_, index) => ({
    way: ways[index % ways.length] as Way,
    socket: undefined,
    isConnected: false,
  }))
  waiting = [...slots]
  if (hold > 0) await new Promise<void>((resolve) => (whenHeld = resolve))
  looks = []
  closed = 0
  process.send?.(report)
}

function openSome(): void {
  for (const slot of waiting.splice(0, OPENED_EACH_TICK)) open(slot)
}

function open(slot: Slot): void {
  const socket = connect(Number(port), hostname)
  slot.socket = socket
  if (slot.way.reads) socket.resume()
  socket.on('error', () => {})
  socket.once('connect', () => {
    slot.isConnected = true
    socket.write(slot.way.atOnce)
  })
  socket.once('close', () => {
    slot.isConnected = false
    if (!slots.includes(slot)) return
    closed += 1
    waiting.push(slot)
  })
}

let turn = 0

function drip(): void {
  const turns = DRIP_MS / TICK_MS
  turn = (turn + 1) % turns
  for (let index = turn; index < slots.length; index += turns) {
    const { way, socket, isConnected } = slots[index] as Slot
    if (isConnected) socket?.write(way.dripped)
  }
}

function look(): void {
  const held = slots.filter(({ isConnected }) => isConnected).length
  if (whenHeld !== undefined && held === slots.length) {
    whenHeld()
    whenHeld = undefined
  }
  looks.push(held)
}
