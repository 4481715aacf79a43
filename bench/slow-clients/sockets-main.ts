// Opens the slow sockets, in a separate process so that they do not delay the load whose answers
// are timed. The sockets are slow in four ways. Each is opened again as soon as the service closes
// it.
import { connect, type Socket } from 'node:net'

/** The number of sockets to keep open; 0 closes them all. */
export interface SocketsCommand {
  readonly count: number
}

/** Covers the time since all sockets were connected. */
export interface SocketsReport {
  /** Connected sockets: the mean and the minimum of the samples. */
  readonly connectedMean: number
  readonly connectedMin: number
  /** Sockets that the service closed. Each was opened again. */
  readonly closed: number
}

/**
 * A way to be slow: what a socket sends at first, what it then sends every second, and whether it
 * reads.
 */
interface SlowKind {
  readonly first: string
  readonly everySecond: string
  readonly reads: boolean
}

/** Each socket sends a byte per second. The sockets are spread over the second to avoid bursts. */
const SEND_MS = 1_000
const TICK_MS = 10
const SAMPLE_MS = 100

/** Sockets opened in one tick: few enough not to overflow the service's accept queue. */
const OPENED_PER_TICK = 20

const [target = '', apiKey = ''] = process.argv.slice(2)
const { hostname, port } = new URL(target)

const authorized = `host: ${hostname}\r\nauthorization: Bearer ${apiKey}\r\n`
const payment = `POST /v1/payments HTTP/1.1\r\n${authorized}idempotency-key: slow\r\n`

const kinds: readonly SlowKind[] = [
  // Headers that never end, and a body that arrives a byte at a time.
  { first: `${payment}x-slow: `, everySecond: 'a', reads: true },
  {
    first: `${payment}content-type: application/json\r\ncontent-length: 1000\r\n\r\n{`,
    everySecond: ' ',
    reads: true,
  },
  // A client that connects and sends nothing.
  { first: '', everySecond: '', reads: true },
  // A response that the client does not read. Such a socket notices that it was closed only when a
  // write fails.
  {
    first: `GET /v1/payments?limit=100 HTTP/1.1\r\n${authorized}\r\n`,
    everySecond: '\r\n',
    reads: false,
  },
]

interface Slot {
  readonly kind: SlowKind
  socket: Socket | undefined
  isConnected: boolean
}

let slots: Slot[] = []
let waiting: Slot[] = []
let samples: number[] = []
let closed = 0
let onAllConnected: (() => void) | undefined

setInterval(openSome, TICK_MS)
setInterval(sendBytes, TICK_MS)
setInterval(sampleConnected, SAMPLE_MS)
process.on('message', (command: SocketsCommand) => void applyCommand(command))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

/** Replaces the sockets. Reports on the previous ones when the new ones are connected. */
async function applyCommand({ count }: SocketsCommand): Promise<void> {
  const sum = samples.reduce((all, connected) => all + connected, 0)
  const report: SocketsReport = {
    connectedMean: samples.length === 0 ? 0 : Math.round(sum / samples.length),
    connectedMin: samples.length === 0 ? 0 : Math.min(...samples),
    closed,
  }
  for (const { socket } of slots) socket?.destroy()
  slots = Array.from({ length: count }, (_, index) => ({
    kind: kinds[index % kinds.length] as SlowKind,
    socket: undefined,
    isConnected: false,
  }))
  waiting = [...slots]
  if (count > 0) await new Promise<void>((resolve) => (onAllConnected = resolve))
  samples = []
  closed = 0
  process.send?.(report)
}

function openSome(): void {
  for (const slot of waiting.splice(0, OPENED_PER_TICK)) open(slot)
}

function open(slot: Slot): void {
  const socket = connect(Number(port), hostname)
  slot.socket = socket
  if (slot.kind.reads) socket.resume()
  socket.on('error', () => {})
  socket.once('connect', () => {
    slot.isConnected = true
    socket.write(slot.kind.first)
  })
  socket.once('close', () => {
    slot.isConnected = false
    if (!slots.includes(slot)) return
    closed += 1
    waiting.push(slot)
  })
}

let turn = 0

function sendBytes(): void {
  const turns = SEND_MS / TICK_MS
  turn = (turn + 1) % turns
  for (let index = turn; index < slots.length; index += turns) {
    const { kind, socket, isConnected } = slots[index] as Slot
    if (isConnected) socket?.write(kind.everySecond)
  }
}

function sampleConnected(): void {
  const connected = slots.filter(({ isConnected }) => isConnected).length
  if (onAllConnected !== undefined && connected === slots.length) {
    onAllConnected()
    onAllConnected = undefined
  }
  samples.push(connected)
}
