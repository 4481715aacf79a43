// Opens the slow sockets, in a separate process so that they do not delay the load whose answers
// are timed. The sockets are slow in four ways. Each is opened again as soon as the service closes
// it.
import { connect, type Socket } from 'node:net'

/** The number of sockets to keep open; 0 closes them all. */
export interface SocketsCommand {
  readonly hold: number
}

/** Covers the time since all sockets were connected. */
export interface SocketsReport {
  /** Connected sockets: the mean and the minimum of the samples. */
  readonly heldMean: number
  readonly heldMin: number
  /** Sockets that the service closed. Each was opened again. */
  readonly closed: number
}

/**
 * A way to be slow: what a socket sends at first, what it then sends every second, and whether it
 * reads.
 */
interface Way {
  readonly atOnce: string
  readonly dripped: string
  readonly reads: boolean
}

/** Each socket sends a byte per second. The sockets are spread over the second to avoid bursts. */
const DRIP_MS = 1_000
const TICK_MS = 10
const LOOK_MS = 100

/** Sockets opened in one tick: few enough not to overflow the service's accept queue. */
const OPENED_EACH_TICK = 20

const [target = '', apiKey = ''] = process.argv.slice(2)
const { hostname, port } = new URL(target)

const authorized = `host: ${hostname}\r\nauthorization: Bearer ${apiKey}\r\n`
const payment = `POST /v1/payments HTTP/1.1\r\n${authorized}idempotency-key: slow\r\n`

const ways: readonly Way[] = [
  // Headers that never end, and a body that arrives a byte at a time.
  { atOnce: `${payment}x-slow: `, dripped: 'a', reads: true },
  {
    atOnce: `${payment}content-type: application/json\r\ncontent-length: 1000\r\n\r\n{`,
    dripped: ' ',
    reads: true,
  },
  // A client that connects and sends nothing.
  { atOnce: '', dripped: '', reads: true },
  // A response that the client does not read. Such a socket notices that it was closed only when a
  // write fails.
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

/** Replaces the sockets. Reports on the previous ones when the new ones are connected. */
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
