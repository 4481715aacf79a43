// Child process that runs tasks for the command, one at a time, until the parent disconnects.
import { runTask } from './run-task.ts'
import type { Task, TaskMessage } from './tasks.ts'

const send = (message: TaskMessage): void => void process.send?.(message)

process.on('message', (task: Task) => {
  runTask(task, (progress) => send({ progress })).then(
    (verdict) => send({ verdict }),
    (error: unknown) => {
      const failure = error instanceof Error ? (error.stack ?? error.message) : String(error)
      send({ failure })
    },
  )
})
// Without the parent there is no reader for the result, so exit. Ctrl-C reaches the parent as well,
// which then disconnects.
process.on('disconnect', () => process.exit()).on('SIGINT', () => {})
