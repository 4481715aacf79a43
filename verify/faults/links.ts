// What the proxies of a process share: a server on a free port of this machine, and links. A link joins
// one connection of the process to its server.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Server as HttpServer } from 'node:http'
import type { Action } from './watch.ts'

/** Returns the port. */
export async function listen(server: Server | HttpServer): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

export abstract class Link {
  protected readonly client: Socket
  protected readonly server: Socket
  protected state: 'open' | 'refusing' | 'deaf' | 'stalled' | 'over' = 'open'
  /** Messages that arrived while the link waits, to be passed on when it goes on. */
  #buffered: (() => void)[] | undefined

  constructor(client: Socket, serverPort: number) {
    this.client = client
    this.server = connect(serverPort, '127.0.0.1')
    for (const socket of [client, this.server]) socket.setNoDelay().on('error', () => {})
  }

  onClose(done: () => void): void {
    this.client.once('close', done)
  }

  get isStalled(): boolean {
    return this.state === 'stalled'
  }

  /** Ends the connection; what the process has sent still arrives. */
  end(): void {
    this.state = 'over'
    this.client.destroy()
    this.server.end()
  }

  /** The process must be alive: a socket that has ended cannot be reset. */
  protected reset(): void {
    this.client.resetAndDestroy()
    this.end()
  }

  /** Does what the action says, and returns whether the message is passed on. */
  protected follow(action: Action): boolean {
    if (action.do === 'reset') this.reset()
    else if (action.do === 'end') this.end()
    else if (action.do === 'stall') this.state = 'stalled'
    else if (action.do !== 'pass') throw new Error(`this link knows no action "${action.do}"`)
    return action.do === 'pass'
  }

  protected passOrBuffer(pass: () => void): void {
    if (this.state === 'stalled' || this.state === 'over') return
    if (this.#buffered === undefined) pass()
    else this.#buffered.push(pass)
  }

  /** Holds back both directions until it is known how to go on. */
  protected async wait(
    { until }: Extract<Action, { do: 'wait' }>,
    pass: () => void,
  ): Promise<void> {
    this.#buffered = []
    const how = await until.catch(() => 'end')
    const buffered = [pass, ...this.#buffered]
    this.#buffered = undefined
    if (how === 'end') this.end()
    else for (const next of buffered) this.passOrBuffer(next)
  }
}

/** The links of one process, each made for a connection. */
export class Links<One extends Link> {
  readonly all = new Set<One>()
  readonly port: number
  readonly #server: Server

  private constructor(server: Server, port: number) {
    this.#server = server
    this.port = port
  }

  /** @param linkTo returns undefined for a connection that is refused. */
  static async open<One extends Link>(
    linkTo: (client: Socket) => One | undefined,
  ): Promise<Links<One>> {
    const server = createServer((client) => {
      const link = linkTo(client)
      if (link === undefined) return void client.on('error', () => {}).destroy()
      links.all.add(link)
      link.onClose(() => links.all.delete(link))
    })
    const links = new Links<One>(server, await listen(server))
    return links
  }

  /** Ends the stalled connections, so that a process that waits on one notices. */
  dropStalled(): void {
    for (const link of this.all) if (link.isStalled) link.end()
  }

  end(): void {
    for (const link of this.all) link.end()
  }

  close(): void {
    this.end()
    this.#server.close()
  }
}
