// A disk that is small enough to be filled: a tmpfs that holds the database of a lane. Where nobody lets the
// suite mount one, it says why.
import { execFile } from 'node:child_process'
import { chown, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findServerAccount } from '../../src/embedded/postgres-account.ts'

const execute = promisify(execFile)

/** For the tables of a soak of a quarter of an hour, and soon filled. */
const SIZE_MB = 256
const CHUNK = Buffer.alloc(1024 * 1024)
/** What is left below a chunk is filled in the steps in which it is given out. */
const CRUMB = Buffer.alloc(4 * 1024)

const FULL = 'ENOSPC'

export class SmallDisk {
  /** Of the server's own, for a tablespace. */
  readonly tablespace: string
  readonly #mount: string

  private constructor(mount: string) {
    this.#mount = mount
    this.tablespace = join(mount, 'tablespace')
  }

  /** Returns why there is none, where mounting is not permitted. */
  static async mount(folder: string): Promise<SmallDisk | string> {
    if (process.platform !== 'linux') return 'there is a tmpfs on Linux alone'
    await mkdir(folder, { recursive: true })
    try {
      await execute('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=755`, 'tmpfs', folder])
    } catch (error) {
      return `a tmpfs cannot be mounted: ${(error as Error).message.trim()}`
    }
    const disk = new SmallDisk(folder)
    await mkdir(disk.tablespace)
    const account = await findServerAccount()
    if ('uid' in account) await chown(disk.tablespace, account.uid, account.gid)
    return disk
  }

  get #filler(): string {
    return join(this.#mount, 'filler')
  }

  /** Takes all that is left, to the last block. */
  async fill(): Promise<void> {
    const filler = await open(this.#filler, 'a')
    try {
      for (const piece of [CHUNK, CRUMB]) await writeUntilFull(filler, piece)
    } finally {
      await filler.close()
    }
  }

  async free(): Promise<void> {
    await rm(this.#filler, { force: true })
  }

  /** Gone for all who come later; a process that has just been killed may not have let go of it yet. */
  async unmount(): Promise<void> {
    await execute('umount', ['--lazy', this.#mount])
  }
}

type Filler = Awaited<ReturnType<typeof open>>

async function writeUntilFull(filler: Filler, piece: Buffer): Promise<void> {
  for (;;) {
    try {
      const { bytesWritten } = await filler.write(piece)
      if (bytesWritten < piece.length) return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === FULL) return
      throw error
    }
  }
}
