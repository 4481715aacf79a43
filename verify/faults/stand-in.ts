// A stand-in of a provider, as a process on a free port.
import { startNodeProcess } from '../../dev/stack/node-process.ts'
import { portIn } from './service-process.ts'

export interface StandIn {
  readonly url: string
  /** With SIGTERM, so that it leaves compiled code for the next process. */
  readonly stop: () => Promise<unknown>
}

const STOP_LIMIT_MS = 4_000

export async function startStandIn(
  script: string,
  settings: Readonly<Record<string, string>>,
): Promise<StandIn> {
  const listening = Promise.withResolvers<number>()
  const process = startNodeProcess({
    script,
    settings,
    stopLimitMs: STOP_LIMIT_MS,
    log(line) {
      const port = portIn(line)
      if (port !== undefined) listening.resolve(port)
    },
  })
  await process.ready
  const stop = () => {
    process.stop()
    return process.ended
  }
  return { url: `http://127.0.0.1:${await listening.promise}`, stop }
}
