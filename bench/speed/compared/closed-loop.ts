// Runs a closed loop of database work in a child process of the benchmark, which takes commands
// from its parent and exits with it. Each client starts its next piece of work after the last one.

export interface LoopCommand {
  readonly what: 'intent' | 'payment'
  readonly tenantId: string
  readonly concurrency: number
  readonly seconds: number
}

export interface LoopReport {
  readonly timesMs: readonly number[]
  readonly seconds: number
}

/** Answers each command of the parent with its report, as soon as the process has started. */
export async function serveLoop(
  started: Promise<unknown>,
  run: (command: LoopCommand) => Promise<LoopReport>,
): Promise<void> {
  process.on('message', (command: LoopCommand) => {
    void run(command).then((report) => process.send?.(report))
  })
  process.once('disconnect', () => process.exit(0))
  await started
  process.send?.('ready')
}

/** @param work one piece of work of the client with this index. */
export async function runLoop(
  { concurrency, seconds }: Pick<LoopCommand, 'concurrency' | 'seconds'>,
  work: (client: number) => Promise<void>,
): Promise<LoopReport> {
  const timesMs: number[] = []
  const beganAt = performance.now()
  const endsAt = beganAt + seconds * 1_000
  const runClient = async (client: number) => {
    while (performance.now() < endsAt) {
      const startedAt = performance.now()
      await work(client)
      timesMs.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, (_, client) => runClient(client)))
  return { timesMs, seconds: (performance.now() - beganAt) / 1_000 }
}
