// A Node process that listens on a free port of this machine, which it logs.
import { type NodeProcess, startNodeProcess } from '../dev/stack/node-process.ts'

export interface ListeningProcess {
  readonly url: string
  readonly process: NodeProcess
}

const STOP_LIMIT_MS = 5_000

/** Resolves when the process is ready and listens. */
export async function startListening(
  ...args: Parameters<typeof startReady>
): Promise<ListeningProcess> {
  const { process, port } = await startReady(...args)
  return { url: `http://127.0.0.1:${await port}`, process }
}

/** Resolves when the process is ready, whether or not it listens. */
export async function startReady(
  script: string,
  settings: Record<string, string>,
  log: (line: string) => void = () => {},
  started: (process: NodeProcess) => void = () => {},
) {
  const listening = Promise.withResolvers<number>()
  const process = startNodeProcess({
    script,
    settings,
    stopLimitMs: STOP_LIMIT_MS,
    log(line) {
      log(line)
      const port = portIn(line)
      if (port !== undefined) listening.resolve(port)
    },
  })
  started(process)
  await process.ready
  return { process, port: listening.promise }
}

/** The port in the log line of a process that listens. */
export function portIn(line: string): number | undefined {
  const [, port] = /"port":(\d+),"msg":"[^"]*listening"/.exec(line) ?? []
  return port === undefined ? undefined : Number(port)
}
