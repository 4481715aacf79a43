// Shows the progress of long work. On a terminal it is a bar. Elsewhere it is a line at the
// beginning, every 30 seconds, and at the end.
import { SingleBar } from 'cli-progress'

export interface Progress {
  /** Prints what starts now. */
  say(line: string): void
  /**
   * Starts work of `steps` steps. Call the returned function with the number of completed steps.
   */
  begin(what: string, steps: number): (done: number) => void
  /** Removes the bar, if there is one, and restores the terminal. */
  end(): void
}

const CLEAR_LINE = '\r\u001b[K'

const LINE_EVERY_MS = 30_000

export function progressOn(stream: NodeJS.WriteStream): Progress {
  let bar: SingleBar | undefined
  const end = () => {
    bar?.stop()
    bar = undefined
  }
  return {
    // The line replaces a visible bar, which is drawn again below it.
    say: (line) =>
      void stream.write(`${bar !== undefined && stream.isTTY ? CLEAR_LINE : ''}${line}\n`),
    begin(what, steps) {
      end()
      const own = new SingleBar({
        stream,
        format: `${what}  [{bar}] {percentage} %  {value} of {total}, {eta_formatted} left`,
        hideCursor: true,
        clearOnComplete: true,
        noTTYOutput: true,
        notTTYSchedule: LINE_EVERY_MS,
      })
      own.start(steps, 0)
      bar = own
      return (done) => {
        own.update(done)
        if (done >= steps) end()
      }
    },
    end,
  }
}
