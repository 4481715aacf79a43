// A TCP proxy in front of a real service that injects connection faults. The test lists the faults;
// each new connection gets the next one.
import { connect, createServer, type Socket } from 'node:net'
import { listening } from '../support/listening.ts'

/**
 * `lose`: the request is dropped and the connection is reset. `hold`: the request is dropped and
 * the connection stays open. `cut`: the request arrives, and the connection is reset when the
 * answer begins.
 */
type ConnectionFault = 'lose' | 'hold' | 'cut'

export interface FaultyProxy {
  readonly url: string
  /** The URL to which new connections are forwarded. */
  target: string
  /** The faults of the next connections. Later connections have none. */
  readonly faults: ConnectionFault[]
  /** The faults injected so far, in order. */
  readonly applied: ConnectionFault[]
  /** Resolves once this fault has been injected. */
  waitUntilApplied(fault: ConnectionFault): Promise<void>
  stop(): Promise<void>
}

export async function startFaultyProxy(target = ''): Promise<FaultyProxy> {
  const waiting = new Map<ConnectionFault, PromiseWithResolvers<void>>()
  const waitFor = (fault: ConnectionFault) => {
    const wait = waiting.get(fault) ?? Promise.withResolvers<void>()
    waiting.set(fault, wait)
    return wait
  }
  const recordApplied = (fault: ConnectionFault) => {
    proxy.applied.push(fault)
    waitFor(fault).resolve()
  }
  const forward = (client: Socket, fault: ConnectionFault | undefined) => {
    const { hostname, port } = new URL(proxy.target)
    const service = connect(Number(port), hostname).on('error', () => {})
    client.pipe(service)
    client.on('close', () => service.destroy())
    if (fault === undefined) {
      service.pipe(client)
      service.on('close', () => client.destroy())
      return
    }
    service.once('data', () => {
      client.resetAndDestroy()
      recordApplied(fault)
    })
  }
  const server = createServer((client) => {
    const fault = proxy.faults.shift()
    if (fault === undefined || fault === 'cut') {
      forward(client, fault)
      return
    }
    client.once('data', () => {
      if (fault === 'lose') client.resetAndDestroy()
      recordApplied(fault)
    })
  })
  const proxy: FaultyProxy = {
    ...(await listening(server)),
    target,
    faults: [],
    applied: [],
    waitUntilApplied: (fault) => waitFor(fault).promise,
  }
  return proxy
}
