// The listening socket: opened on demand, closed for good at the end, and closed for a while when
// new connections are to be refused.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Address {
  host: string
  port: number
}

export interface Listener {
  /** Starts to listen and returns the port, which is a free one when 0 was asked for. */
  listen: (address: Address) => Promise<number>
  /** Refuses all new connections for a while. Idle connections are closed. */
  refuseFor: (milliseconds: number) => void
  isRefusing: () => boolean
  close: () => Promise<void>
}

/** Another socket may hold the port when it is wanted back. */
const REOPEN_RETRY_MS = 20

/** A client that is slow to send its request does not keep the server from closing. */
const CLOSE_GRACE_MS = 500

/** Takes charge of a server's listening socket. */
export function createListener(server: Server): Listener {
  let reopenTimer: NodeJS.Timeout | undefined

  const listen = async ({ host, port }: Address) => {
    const listening = once(server, 'listening')
    server.listen(port, host)
    await listening
    return (server.address() as AddressInfo).port
  }

  const reopenAfter = (milliseconds: number, address: Address) => {
    reopenTimer = setTimeout(() => {
      listen(address).then(
        () => (reopenTimer = undefined),
        () => reopenAfter(REOPEN_RETRY_MS, address),
      )
    }, milliseconds)
  }

  return {
    listen,
    isRefusing: () => reopenTimer !== undefined,
    refuseFor: (milliseconds) => {
      if (reopenTimer !== undefined) return
      const { address, port } = server.address() as AddressInfo
      server.close()
      reopenAfter(milliseconds, { host: address, port })
    },
    close: async () => {
      clearTimeout(reopenTimer)
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const grace = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS)
      await closed
      clearTimeout(grace)
    },
  }
}
