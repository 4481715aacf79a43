// A disk that can be full: a tmpfs for the database of a lane. Where mounting is not permitted, it
// says why.
import { execFile } from 'node:child_process'
import { chown, mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findServerAccount } from '../../dev/embedded-postgres/postgres-account.ts'

const execute = promisify(execFile)

/** A tmpfs uses memory only for what is written to it. */
const SIZE_BYTES = 1024 ** 3

const FILLING_LIMIT_MS = 2_000

export class SmallDisk {
  /** A folder for a tablespace, owned by the account of the server. */
  readonly tablespace: string
  readonly #mount: string

  private constructor(mount: string) {
    this.#mount = mount
    this.tablespace = join(mount, 'tablespace')
  }

  /** Returns the reason where mounting is not permitted. */
  static async mount(folder: string): Promise<SmallDisk | string> {
    if (process.platform !== 'linux') return 'tmpfs is available on Linux only'
    await mkdir(folder, { recursive: true })
    try {
      await execute('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_BYTES},mode=755`, 'tmpfs', folder])
    } catch (error) {
      return `a tmpfs cannot be mounted: ${(error as Error).message.trim()}`
    }
    const disk = new SmallDisk(folder)
    await mkdir(disk.tablespace)
    const account = await findServerAccount()
    if ('uid' in account) await chown(disk.tablespace, account.uid, account.gid)
    return disk
  }

  /** Leaves no free block: it shrinks the disk to its contents, which is fast and needs no file. */
  async fill(): Promise<void> {
    const endsAt = performance.now() + FILLING_LIMIT_MS
    for (;;) {
      const { blocks, bfree, bsize } = await statfs(this.#mount)
      try {
        await this.#resize((blocks - bfree) * bsize)
        return
      } catch (error) {
        // Something was written in the meantime.
        if (performance.now() > endsAt) throw error
      }
    }
  }

  async free(): Promise<void> {
    await this.#resize(SIZE_BYTES)
  }

  async #resize(bytes: number): Promise<void> {
    await execute('mount', ['-o', `remount,size=${bytes}`, this.#mount])
  }

  /** Lazily, because a process that has just been killed may still have files open. */
  async unmount(): Promise<void> {
    await execute('umount', ['--lazy', this.#mount])
  }
}
