// The process that does tasks for the command, one after the other, and ends with it.
import { runTask } from './run-task.ts'
import type { Task, TaskMessage } from './task.ts'

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
// Without the one who has asked there is nobody to tell. An interrupt reaches that one, too.
process.on('disconnect', () => process.exit()).on('SIGINT', () => {})
