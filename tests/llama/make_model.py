#!/usr/bin/env python3
"""Writes a tiny random model for llama.cpp. usage: make_model.py OUT.gguf (needs the packages gguf and numpy)

Its vocabulary is the 256 bytes, one pair of them, our words, and the markers of its chat template. Only printable ASCII can be drawn: the output
rows of all other tokens are zero, and of some ninety random ones the largest is above that. So an answer never ends
by itself, never breaks a character, and has as many tokens as it has letters.
"""
import os
import sys

import gguf
import numpy as np

HIDDEN, HEADS, FEED_FORWARD, LAYERS, CONTEXT = 64, 2, 128, 2, 8192
HEAD = HIDDEN // HEADS
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_names():
    """The characters by which byte-level vocabularies write the bytes: visible ones stand for themselves."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    names = {byte: chr(byte) for byte in visible}
    names.update((byte, chr(256 + place)) for place, byte in enumerate(hidden))
    return [names[byte] for byte in range(256)]


def main(path):
    draw = np.random.default_rng(7)
    markers = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    # llama.cpp takes no vocabulary without a merge.
    with open(f"{os.path.dirname(__file__)}/../../src/prompt/words.txt") as lines:
        listed = [line.strip() for line in lines]
    # A blank is written so. Each word is a token with one before it, and without.
    words = [blank + word for blank in ("\u0120", "") for word in listed if len(word) > 1]
    tokens = [*byte_names(), *words, *([] if "th" in words else ["th"]), *markers]
    normal, control = int(gguf.TokenType.NORMAL), int(gguf.TokenType.CONTROL)

    model = gguf.GGUFWriter(path, "qwen3")
    model.add_name("tiny")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(HIDDEN)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(FEED_FORWARD)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_key_length(HEAD)
    model.add_value_length(HEAD)
    model.add_rope_freq_base(10000.0)
    model.add_layer_norm_rms_eps(1e-6)
    model.add_vocab_size(len(tokens))
    model.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    model.add_tokenizer_model("gpt2")
    # Of those kinds that take a word of the vocabulary as it is, whatever merges there are.
    model.add_tokenizer_pre("llama-bpe")
    model.add_token_list(tokens)
    model.add_token_types([normal] * (len(tokens) - len(markers)) + [control] * len(markers))
    model.add_token_merges(["t h"])
    model.add_eos_token_id(tokens.index("<|im_end|>"))
    model.add_pad_token_id(tokens.index("<|endoftext|>"))
    model.add_add_bos_token(False)
    model.add_chat_template(TEMPLATE)

    def matrix(rows, columns):
        return (draw.standard_normal((rows, columns)) / columns**0.5).astype(np.float16)

    def ones(count):
        return np.ones(count, dtype=np.float32)

    output = np.zeros((len(tokens), HIDDEN), dtype=np.float16)
    output[33:127] = matrix(94, HIDDEN)
    model.add_tensor("token_embd.weight", matrix(len(tokens), HIDDEN))
    model.add_tensor("output_norm.weight", ones(HIDDEN))
    model.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        model.add_tensor(at + "attn_norm.weight", ones(HIDDEN))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            model.add_tensor(f"{at}{name}.weight", matrix(HIDDEN, HIDDEN))
        model.add_tensor(at + "attn_q_norm.weight", ones(HEAD))
        model.add_tensor(at + "attn_k_norm.weight", ones(HEAD))
        model.add_tensor(at + "ffn_norm.weight", ones(HIDDEN))
        model.add_tensor(at + "ffn_gate.weight", matrix(FEED_FORWARD, HIDDEN))
        model.add_tensor(at + "ffn_up.weight", matrix(FEED_FORWARD, HIDDEN))
        model.add_tensor(at + "ffn_down.weight", matrix(HIDDEN, FEED_FORWARD))
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


main(sys.argv[1])
