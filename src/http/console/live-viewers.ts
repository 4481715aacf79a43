// The browsers that watch. Their number is limited, and so is what a slow one has not read yet.
import type { ServerResponse } from 'node:http'
import { endEvent, type EndReason } from './live-events.ts'

/** Each costs a connection. Operators are few, and each has a few pages open. */
const VIEWERS_MAX = 50

/** A viewer with more unread bytes is cut off. Its browser connects again when it can. */
const UNREAD_MAX_BYTES = 262_144

export interface LiveViewers {
  count(): number
  isFull(): boolean
  /** Sends events to the response from now on, until its browser disconnects. */
  add(response: ServerResponse, tokenHash: Buffer): void
  /** Sends the text to all viewers. */
  send(text: string): void
  /** The hashes of the tokens of the sessions that watch. */
  tokenHashes(): Buffer[]
  /** Ends the connections of the sessions for which the condition is true. */
  end(reason: EndReason, isOver: (tokenHash: Buffer) => boolean): void
}

export function createLiveViewers(
  most = VIEWERS_MAX,
  unreadMaxBytes = UNREAD_MAX_BYTES,
): LiveViewers {
  const viewers = new Map<ServerResponse, Buffer>()
  return {
    count: () => viewers.size,
    isFull: () => viewers.size >= most,
    add(response, tokenHash) {
      viewers.set(response, tokenHash)
      response.once('close', () => viewers.delete(response))
    },
    send(text) {
      // Node copies a text for each connection, and bytes for none.
      const bytes = Buffer.from(text)
      for (const response of viewers.keys()) {
        if (response.writableLength > unreadMaxBytes) response.destroy()
        else response.write(bytes)
      }
    },
    tokenHashes: () => [...viewers.values()],
    end(reason, isOver) {
      for (const [response, tokenHash] of viewers) {
        if (!isOver(tokenHash)) continue
        viewers.delete(response)
        response.end(endEvent(reason))
      }
    },
  }
}
