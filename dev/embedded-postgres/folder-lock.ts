// One owner per folder, enforced by the kernel: the lock is an exclusive SQLite transaction, which
// ends with its process however that dies, so there is no stale lock and no pid to mistake.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from '../start-error.ts'

const SQLITE_BUSY = 5
const POLL_MS = 100

/**
 * Takes the lock of a folder, waiting `waitMs` for an owner that is about to end, and returns the
 * function that gives it back. Keep that function: a lock that nothing refers to is collected, and
 * thereby released.
 *
 * @throws StartError when another process, or this one, holds it, or the folder is not ours to write.
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
