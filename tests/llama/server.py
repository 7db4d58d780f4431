"""Serves a model with the server of llama.cpp on a port of the loopback (0: a free one), and prints its address. It ends with its standard input.

    server.py FILE PORT
"""
import sys

import xllamacpp


def main():
    place, port = sys.argv[1:]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = place
    parameters.model_alias = {"random"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(port)
    # One answer at a time, on one core.
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.n_gpu_layers = 0
    parameters.warmup = False
    parameters.fit_params = False
    # It counts for itself what was asked and answered.
    parameters.endpoint_metrics = True
    parameters.offline = True
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
