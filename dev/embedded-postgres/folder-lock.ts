// Locks a folder for one owner. The lock is an exclusive SQLite transaction: the kernel releases it
// when the process dies, so that no stale lock remains and no process id has to be checked.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from '../start-error.ts'

const SQLITE_BUSY = 5
const POLL_MS = 100

/**
 * Locks a folder, and returns the function that unlocks it. Waits up to `waitMs` for an owner that
 * is shutting down. Keep a reference to the function: a garbage-collected lock is released.
 *
 * @throws StartError when the folder is locked, also by this process, or cannot be written.
 */
export async function lockFolder(folder: string, waitMs = 0): Promise<() => void> {
  const deadline = performance.now() + waitMs
  for (;;) {
    const unlock = tryLock(join(folder, 'lock'))
    if (unlock !== undefined) return unlock
    if (performance.now() >= deadline) {
      throw new StartError(`${folder} is in use by another running process`)
    }
    await delay(POLL_MS)
  }
}

function tryLock(file: string): (() => void) | undefined {
  const lock = new DatabaseSync(file, { open: false, timeout: 0 })
  const unlock = () => {
    if (lock.isOpen) lock.close()
  }
  try {
    lock.open()
    lock.exec('begin exclusive')
    return unlock
  } catch (cause) {
    unlock()
    if ((cause as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw new StartError(`${file} cannot be locked`, { cause })
  }
}
